package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/queries"
	"github.com/dygmamba/dygmamba/internal/term"
)

func (p *prediction) check(cmd *cobra.Command, a *app) error {
	if p.out == "-" {
		p.out = ""
	}
	if err := p.checkSurprise(cmd.Flags().Changed); err != nil {
		return err
	}
	if err := p.rank.check(cmd, p); err != nil || p.rank.asked {
		return err
	}
	if err := p.timing.check(cmd, p); err != nil || p.timing.source {
		return err
	}
	given := 0
	for _, name := range queries.Columns {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	p.alone = given > 0
	switch {
	case p.queries == "" && given == 0:
		return usagef("--queries is missing: want a file with the columns u, i and ts, " +
			"or --u, --i and --ts for a single query")
	case p.queries != "" && given > 0:
		return usagef("--queries cannot be used with --u, --i and --ts")
	case given > 0 && given < len(queries.Columns):
		return usagef("a single query needs all of --u, --i and --ts")
	case p.top < 0:
		return usagef("--top is %d, must be at least 0", p.top)
	case p.moments < 0 || p.moments > mostMoments:
		return usagef("--curve is %d, must be from 0 to %d", p.moments, mostMoments)
	case p.why == "-" && !p.alone && !a.json && p.out == "":
		return usagef("explanations and predictions would both go to standard output: write one of them to a file, " +
			"with --explain or --out")
	case p.plot == "-":
		return usagef("--plot is -, want a file")
	case p.plot != "" && (!p.alone || p.moments == 0):
		return usagef("--plot draws the curve of a single query: want --u, --i and --ts, and --curve above 0")
	case p.out != "" && sameName(p.out, p.why):
		return usagef("--out and --explain are both %s, want two different files", p.out)
	case p.plot != "" && (sameName(p.plot, p.out) || sameName(p.plot, p.why)):
		return usagef("--plot is %s, the same as --out or --explain; want a different file", p.plot)
	}
	return p.checkShared(cmd)
}

// checkShared looks at the flags that rankings have too.
func (p *prediction) checkShared(cmd *cobra.Command) error {
	if p.alone && formGiven(cmd) != "" {
		return usagef("--%s needs --queries", formGiven(cmd))
	}
	return cmp.Or(checkForm(p.form), checkOrder(p.order), p.checkOutputs(endingEarly))
}

// sameName says whether two paths are written alike. No path is like no other.
func sameName(a, b string) bool {
	return a != "" && b != "" && filepath.Clean(a) == filepath.Clean(b)
}

// mostMoments is more than anyone can tell apart on a page.
const mostMoments = 10_000

// outputs are the files to write, by flag.
func (p *prediction) outputs() map[string]string {
	files := map[string]string{"out": p.out, "explain": p.why, "plot": p.plot}
	maps.DeleteFunc(files, func(_, path string) bool { return path == "" || path == "-" })
	return files
}

// spare refuses to write over what is read, and in formats that there are not.
func (p *prediction) spare(o *openedRun) error {
	for flag, path := range p.outputs() {
		own := map[string]string{"queries": p.queries, "candidates": p.rank.candidates}
		if err := o.spare(flag, path, own); err != nil {
			return err
		}
	}
	return p.checkOutputs(func(flag, path string, formats ...string) error {
		_, err := endingOf(flag, path, formats...)
		return err
	})
}

// checkOutputs looks at the endings of the files to write, and whether they can be made.
func (p *prediction) checkOutputs(check func(flag, path string, formats ...string) error) error {
	formats := map[string][]string{"out": tableEndings, "plot": {".svg"}}
	if p.timing.curve {
		formats["out"] = append([]string{".json"}, tableEndings...)
	}
	for flag, path := range p.outputs() {
		err := writable(flag, path)
		if formats[flag] != nil {
			err = check(flag, path, formats[flag]...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *prediction) read(ctx context.Context, a *app, set *dataset.Set) error {
	p.set = set
	ask := queries.NewReader(set)
	if p.rank.asked {
		return p.rank.read(ctx, a, p, ask)
	}
	if p.timing.source {
		q, err := ask.OneSource("command line", p.single.u, p.single.ts)
		p.questions = []queries.Question{q}
		return err
	}
	if p.alone {
		q, err := ask.One("command line", p.single.u, p.single.i, p.single.ts)
		if err != nil {
			return err
		}
		p.questions = []queries.Question{q}
	} else {
		t, err := ask.Read(ctx, p.queries, a.in, p.form)
		if err != nil {
			return err
		}
		p.questions, p.extra, p.table, p.asker = t.Questions, t.Extra, &t, ask
	}
	if list := ask.Swapped(p.questions); list != nil {
		a.log().Warn(fmt.Sprintf("in %s of %s queries u is a destination of the data and i a source, "+
			"such as %s and %s: are u and i swapped?",
			term.Count(len(list)), term.Count(len(p.questions)), list[0].U, list[0].I))
	}
	return nil
}
