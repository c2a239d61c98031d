package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/models"
)

// factoryOf is the model that a command line names so far, or else the one it would be.
func factoryOf(name string) model.Factory {
	if f, err := model.Find(strings.ToLower(name)); err == nil {
		return f
	}
	return models.Get(dygmamba.DefaultModel)
}

// completePresets offers the presets of the model, with what they are.
func completePresets(cmd *cobra.Command, name func(args []string) string) {
	offer := func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		f := factoryOf(name(args))
		var list []string
		for _, p := range f.Presets {
			list = append(list, p+"\t"+f.About(p))
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc("preset", offer); err != nil {
		panic(err)
	}
}

// completeSettings offers the settings of the model, with what they are, and behind the = the value that one has.
func completeSettings(cmd *cobra.Command, name func() string) {
	offer := func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		f := factoryOf(name())
		preset := ""
		if p := cmd.Flags().Lookup("preset"); p != nil {
			preset = p.Value.String()
		}
		spec, err := f.Spec(preset, model.Data{})
		if err != nil {
			spec, _ = f.Spec("", model.Data{}) // a preset that is not there is complained about later
		}
		key, _, valued := strings.Cut(begun, "=")
		var list []string
		for _, s := range f.Settings(spec) {
			switch {
			case !valued:
				list = append(list, s.Key+"=\t"+s.About)
			case s.Key == key:
				list = append(list, settingValues(s)...)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	if err := cmd.RegisterFlagCompletionFunc("set", offer); err != nil {
		panic(err)
	}
}

// settingValues are what a setting can be, where there are few such values, or else what it is.
func settingValues(s model.Setting) []string {
	if _, ok := s.Value.(bool); ok {
		return []string{s.Key + "=true", s.Key + "=false"}
	}
	return []string{fmt.Sprintf("%s=%v\tcurrent value", s.Key, s.Value)}
}
