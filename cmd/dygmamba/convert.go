package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/predict"
)

type convertDoc struct {
	From       string `json:"from"`
	Out        string `json:"out"`
	Format     string `json:"format"` // safetensors or pytorch
	Model      string `json:"model,omitempty"`
	Tensors    int    `json:"tensors"`
	Parameters int    `json:"parameters"`
}

func newConvert(a *app) *cobra.Command {
	var out, data string
	var what modelFlags
	cmd := &cobra.Command{
		Use:   "convert FILE",
		Short: "Convert checkpoints between PyTorch and safetensors",
		Args:  takes("a file that PyTorch wrote, or a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			from, err := a.oneCheckpoint(args[0])
			if err != nil {
				return err
			}
			foreign, err := checkpoint.IsPyTorch(from)
			if err != nil {
				return err
			}
			doc := convertDoc{From: from, Model: strings.ToLower(what.name)}
			doc.choose(foreign, out)
			out = doc.Out
			if err := writable("out", out); err != nil {
				return err
			}
			if sameFile(from, out) {
				return usagef("--out %s is the file to read", out)
			}
			if what.name == "" && (what.preset != "" || len(what.set) > 0) {
				return usagef("--preset and --set need --model")
			}
			if what.name != "" && doc.Format == asPyTorch {
				return usagef("--model stores settings, which %s cannot hold: want a .safetensors file", out)
			}
			file, err := loadWeights(from, foreign)
			if err != nil {
				return err
			}
			doc.Tensors = len(file.Tensors)
			if doc.Model != "" {
				err := predict.Configure(&file, doc.Model, what.preset, model.Data{Name: data}, what.set)
				if err != nil {
					return loadError(fmt.Errorf("%s: %w", from, err))
				}
			}
			for _, t := range file.Tensors {
				doc.Parameters += len(t.Data)
			}
			write := checkpoint.Write
			if doc.Format == asPyTorch {
				write = checkpoint.WritePyTorch
			}
			err = replaceFile(out, func(w io.Writer) error {
				if err := write(w, file); err != nil {
					return fmt.Errorf("save %s: %w", out, err)
				}
				return nil
			})
			if err != nil {
				return err
			}
			return a.emit(doc, doc.write)
		},
	}
	what.add(cmd, modelNames, "")
	flags := cmd.Flags()
	flags.StringVar(&out, "out", "", "`file` to write (default: the same name with .safetensors or .pth)")
	flags.StringVar(&data, "data", "", "with --model: name of the data set whose preset to use")
	return cmd
}

// The formats that are written.
const (
	asSafetensors = "safetensors"
	asPyTorch     = "pytorch"
)

// choose says what is written, and where.
func (d *convertDoc) choose(foreign bool, out string) {
	d.Format = asPyTorch
	if foreign {
		d.Format = asSafetensors
	}
	switch strings.ToLower(filepath.Ext(out)) {
	case ".safetensors":
		d.Format = asSafetensors
	case ".pt", ".pth", ".pkl", ".bin":
		d.Format = asPyTorch
	}
	if d.Out = out; out == "" {
		d.Out = strings.TrimSuffix(d.From, filepath.Ext(d.From)) +
			map[string]string{asSafetensors: ".safetensors", asPyTorch: ".pth"}[d.Format]
	}
}

// loadWeights reads tensors under the names of the released program.
func loadWeights(path string, foreign bool) (checkpoint.File, error) {
	if foreign {
		file, err := checkpoint.LoadPyTorch(path)
		return file, loadError(err)
	}
	file, err := checkpoint.Load(path)
	if errors.Is(err, checkpoint.ErrCorrupt) {
		return file, loadError(fmt.Errorf("%w (it is no PyTorch file either: want a zip archive or a pickle)", err))
	}
	if err == nil {
		if file, err = predict.ExportReleased(file); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	return file, loadError(err)
}

func (d convertDoc) write(w io.Writer, s term.Style) error {
	var f term.Facts
	f.Add("wrote", fmt.Sprintf("%s, %s tensors with %s numbers",
		d.Out, term.Count(d.Tensors), term.Count(d.Parameters)))
	if d.Model != "" {
		f.Add("model", d.Model)
	}
	return f.Write(w, s)
}
