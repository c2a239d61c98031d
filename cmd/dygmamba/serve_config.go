package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/suggest"
)

// envPrefix begins the names of environment variables that set flags of serve: DYGMAMBA_SERVE_MAX_EVENTS is
// --max-events.
const envPrefix = "DYGMAMBA_SERVE_"

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configured sets the flags of a command that the command line does not have, from the environment or else from the
// file of --config. It is called once, after the flags were parsed.
func configured(cmd *cobra.Command) error {
	flags := cmd.Flags()
	path := os.Getenv(envName("config"))
	if f := flags.Lookup("config"); f.Changed {
		path = f.Value.String()
	}
	lines, err := readConfig(path, flags)
	if err != nil {
		return err
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || err != nil {
			return
		}
		if value, ok := os.LookupEnv(envName(f.Name)); ok {
			if e := flags.Set(f.Name, value); e != nil {
				err = usagef("%s is %q: %v", envName(f.Name), value, e)
			}
			return
		}
		for _, l := range lines[f.Name] {
			if e := flags.Set(f.Name, l.value); e != nil {
				err = &inputError{&dataset.InputError{File: path, Line: l.line, Row: -1,
					Found: fmt.Sprintf("%s = %s", f.Name, l.value), Want: "a value of --" + f.Name + ": " + f.Usage}}
				return
			}
		}
	})
	return err
}

// setting is a value in a file, and its line.
type setting struct {
	value string
	line  int
}

// readConfig reads a file with lines NAME = VALUE, where names are those of flags. Empty lines and lines that begin
// with # are skipped. A flag that can be repeated may have several lines.
func readConfig(path string, flags *pflag.FlagSet) (map[string][]setting, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &inputError{fmt.Errorf("--config: %w", err)}
	}
	defer f.Close()
	var names []string
	flags.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	out, lines := map[string][]setting{}, bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		bad := func(found, want string) error {
			return &inputError{&dataset.InputError{File: path, Line: n, Row: -1, Found: found, Want: want}}
		}
		name, value, ok := strings.Cut(text, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		f := flags.Lookup(name)
		switch {
		case !ok:
			return nil, bad(fmt.Sprintf("%q", text), "NAME = VALUE, such as: listen = :8080")
		case f == nil || name == "config" || name == "help":
			return nil, bad(fmt.Sprintf("the name %q", name), "that of a flag of serve"+suggest.Hint(name, names))
		case len(out[name]) > 0 && f.Value.Type() != "stringSlice" && f.Value.Type() != "stringArray":
			return nil, bad(name+" a second time", "it once")
		}
		out[name] = append(out[name], setting{strings.Trim(value, `"`), n})
	}
	return out, lines.Err()
}

// again reads the settings of the same command line once more, with what the environment and the file have now.
func (s *serving) again() (*serving, error) {
	fresh := &serving{}
	cmd := &cobra.Command{Use: "serve"}
	fresh.add(cmd)
	for _, f := range s.given {
		if own := cmd.Flags().Lookup(f.name); own != nil {
			if err := own.Value.Set(f.value); err != nil {
				return nil, err
			}
			own.Changed = true
		}
	}
	if err := configured(cmd); err != nil {
		return nil, err
	}
	return fresh, fresh.check()
}

// givenFlag is a flag of the command line.
type givenFlag struct{ name, value string }

// note remembers the flags of the command line, for again.
func (s *serving) note(cmd *cobra.Command) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				s.given = append(s.given, givenFlag{f.Name, v})
			}
			return
		}
		s.given = append(s.given, givenFlag{f.Name, f.Value.String()})
	})
}
