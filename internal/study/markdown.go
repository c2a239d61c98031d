package study

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteMarkdown writes the report for people who read it beside code.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The paper's tables and figures beside our own\n\n%s\n\n%s\n", r.lead(), conventions)
	for _, s := range r.Exhibits {
		if len(s.Tables)+len(s.Figures) == 0 {
			continue
		}
		if s.Title += " (" + s.Number + ")"; len(s.Figures) > 0 {
			s.Notes = append([]string{fmt.Sprintf("Drawn in [%s](%s#%s).", PageFile, PageFile, s.ID)}, s.Notes...)
		}
		s.markdown(&b, "##")
	}
	if names := r.nothing(); names != "" {
		fmt.Fprintf(&b, "\nNothing to show yet: %s.\n", names)
	}
	b.WriteString("\n## Runs\n\n| run | | |\n|---|---|---|\n")
	for _, run := range r.Runs {
		name := run.Run
		if run.Dir != "" {
			name = fmt.Sprintf("[%s](%s)", run.Run, escaped(run.Dir))
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, run.State, oneLine(run.Words))
	}
	if len(r.Missing) > 0 {
		b.WriteString("\n## Data sets that are not here\n\n")
		for _, m := range r.Missing {
			fmt.Fprintf(&b, "    %s\n", m.Command)
		}
	}
	b.WriteString("\n## Where the time went\n\n| phase | seconds |\n|---|--:|\n")
	for _, p := range r.Phases {
		fmt.Fprintf(&b, "| %s | %.1f |\n", p.Name, p.Seconds)
	}
	fmt.Fprintf(&b, "\ndygmamba %s, %s\n", r.Version, r.Written.Format("2006-01-02 15:04 MST"))
	_, err := io.WriteString(w, b.String())
	return err
}

// distinct are values in order, each once.
func distinct(values []float64) []float64 {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}
