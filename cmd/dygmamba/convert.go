package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
)

// convertDoc is the document of convert.
type convertDoc struct {
	From       string `json:"from"`
	Out        string `json:"out"`
	Model      string `json:"model,omitempty"`
	Tensors    int    `json:"tensors"`
	Parameters int    `json:"parameters"`
}

func newConvert(a *app) *cobra.Command {
	var out, data string
	var what modelFlags
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Turn a PyTorch checkpoint into safetensors",
		Long: `Reads what torch.save(model.state_dict(), …) wrote, as the released program does, and writes its tensors under the same names. A PyTorch file
is a program in a language of its own; this reads its tensors and runs nothing: a file that asks for anything else is refused.

With --model the configuration is noted in the file, so that predict and eval need not be told again.`,
		Example: `  dygmamba convert DyGMamba_seed0.pkl --out weights.safetensors
  dygmamba convert DyGMamba_seed0.pkl --out weights.safetensors --model dygmamba --set max_input_sequence_length=256 --set max_interaction_times=30`,
		Args: takes("a file that PyTorch wrote"),
		RunE: func(_ *cobra.Command, args []string) error {
			from := args[0]
			if out == "" {
				out = strings.TrimSuffix(from, filepath.Ext(from)) + ".safetensors"
			}
			if err := writable("out", out); err != nil {
				return err
			}
			if sameFile(from, out) {
				return usagef("--out %s is the file to read", out)
			}
			if what.name == "" && (what.preset != "" || len(what.set) > 0) {
				return usagef("--preset and --set configure a model: name it with --model")
			}
			file, err := checkpoint.LoadPyTorch(from)
			if err != nil {
				return loadError(err)
			}
			doc := convertDoc{From: from, Out: out, Model: strings.ToLower(what.name), Tensors: len(file.Tensors)}
			if doc.Model != "" {
				if err := dygmamba.Configure(&file, doc.Model, what.preset, model.Data{Name: data}, what.set); err != nil {
					return loadError(fmt.Errorf("%s: %w", from, err))
				}
			}
			for _, t := range file.Tensors {
				doc.Parameters += len(t.Data)
			}
			if err := saveConverted(out, file); err != nil {
				return err
			}
			return a.emit(doc, doc.write)
		},
	}
	what.add(cmd, modelNames, "")
	flags := cmd.Flags()
	flags.StringVar(&out, "out", "", "`file` to write (default: the same name with .safetensors)")
	flags.StringVar(&data, "data", "", "with --model: the data set whose preset to start from")
	return cmd
}

func saveConverted(path string, file checkpoint.File) error {
	out, err := newPending(path)
	if err != nil {
		return err
	}
	defer out.discard()
	if err := checkpoint.Write(out, file); err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	return out.commit()
}

func (d convertDoc) write(w io.Writer, s term.Style) error {
	var f term.Facts
	f.Add("wrote", fmt.Sprintf("%s, %s tensors with %s numbers", d.Out, term.Count(d.Tensors), term.Count(d.Parameters)))
	if d.Model != "" {
		f.Add("model", d.Model)
	}
	return f.Write(w, s)
}
