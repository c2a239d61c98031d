package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/internal/term"
)

// configure chooses the settings, and says so where those are for a first look.
func (f *trainFlags) configure(a *app) error {
	o := &f.options
	spec, full, err := o.Choose()
	if err != nil {
		return err
	}
	if o.Spec = &spec; len(f.sweep) > 0 { // every trial has its own
		o.Spec, o.Preset = nil, spec.Preset
	}
	if full != "" {
		a.log().Info(fmt.Sprintf("using preset %s, for a first look at %s imported events without a GPU; "+
			"full model: %s",
			spec.Preset, term.Count(o.Set.Log.Len()), f.command(full)))
	}
	return nil
}

// command is the command line that trains with a preset, in a directory of its own.
func (f *trainFlags) command(preset string) string {
	words := []string{"dygmamba", "train", "--data", quoted(f.data.name), "--preset", preset}
	if f.what.name != dygmamba.DefaultModel {
		words = append(words, "--model", f.what.name)
	}
	for _, s := range f.what.set {
		words = append(words, "--set", quoted(s))
	}
	if f.runs.out != "" {
		words = append(words, "--out", quoted(filepath.Clean(f.runs.out)+"-"+preset))
	}
	return strings.Join(words, " ")
}

// quoted is a word for a shell.
func quoted(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./=:,+@%", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
