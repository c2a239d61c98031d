package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/suggest"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
)

// modelDoc describes one model.
type modelDoc struct {
	Name     string          `json:"name"`
	Summary  string          `json:"summary"`
	Presets  []presetDoc     `json:"presets,omitempty"`
	Preset   string          `json:"preset,omitempty"` // the one asked for, or the one the data set is trained with
	Settings []model.Setting `json:"settings"`         // of that preset, for the data set asked for
}

type presetDoc struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

func newModels(a *app) *cobra.Command {
	var preset, data string
	cmd := &cobra.Command{
		Use:   "models [NAME]",
		Short: "List the models, or show the presets and settings of one",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%s takes one name, found %q too", cmd.CommandPath(), args[1])
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return builtIn(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listModels(preset, data)
			}
			doc, err := modelDocOf(args[0], preset, data)
			if err != nil {
				return err
			}
			return a.emit(doc, doc.write)
		},
	}
	cmd.Flags().StringVar(&preset, "preset", "",
		"show the settings of this preset (default: the preset that --data is trained with)")
	cmd.Flags().StringVar(&data, "data", "", "show the settings for this data set")
	completePresets(cmd, func(args []string) string { return strings.Join(args, "") })
	complete(cmd, "data", dataset.CatalogNames)
	return cmd
}

// builtIn are all models, those with learned weights first.
func builtIn() []string {
	return append(modelNames(), evalModels()...)
}

func (a *app) listModels(preset, data string) error {
	var list struct {
		Models []modelDoc `json:"models"`
	}
	for _, name := range builtIn() {
		doc, err := modelDocOf(name, preset, data)
		if err != nil {
			return err
		}
		list.Models = append(list.Models, doc)
	}
	return a.emit(list, func(w io.Writer, s term.Style) error {
		t := term.NewTable(term.Left("model"), term.Left("what it does"))
		for _, m := range list.Models {
			t.Row(m.Name, m.Summary)
		}
		if err := t.Write(w, s); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim("'dygmamba models NAME' shows presets and settings"))
		return err
	})
}

func modelDocOf(name, preset, data string) (modelDoc, error) {
	name = strings.ToLower(name)
	factory, err := model.Find(name)
	if err != nil {
		return modelDoc{}, usagef("no model %q%s; there are %s",
			name, suggest.Hint(name, builtIn()), strings.Join(builtIn(), ", "))
	}
	if !factory.Trains {
		preset = "" // it has none
	}
	spec, err := factory.Spec(preset, model.Data{Name: data})
	if err != nil {
		return modelDoc{}, err
	}
	doc := modelDoc{Name: name, Summary: factory.Summary}
	if factory.Trains {
		doc.Preset = spec.Preset
		for _, p := range factory.Presets {
			doc.Presets = append(doc.Presets, presetDoc{p, factory.About(p)})
		}
	}
	doc.Settings = factory.Settings(spec)
	return doc, nil
}

func (m modelDoc) write(w io.Writer, s term.Style) error {
	fmt.Fprintf(w, "%s: %s\n", s.Strong(m.Name), m.Summary)
	if len(m.Presets) > 0 {
		fmt.Fprintln(w)
		t := term.NewTable(term.Left("preset"), term.Left("what it is"))
		for _, p := range m.Presets {
			t.Row(p.Name, p.Summary)
		}
		if err := t.Write(w, s); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	t := term.NewTable(term.Left("setting"), term.Right(cmp.Or(m.Preset, "value")), term.Left("what it is"))
	for _, k := range m.Settings {
		value, err := json.Marshal(k.Value)
		if err != nil {
			return err
		}
		t.Row(k.Key, cmp.Or(strings.Trim(string(value), `"`), "–"), k.About)
	}
	if err := t.Write(w, s); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim("--set SETTING=VALUE changes one"))
	return err
}
