package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/predict"
	"github.com/dygmamba/dygmamba/run"
)

func newCalibrate(a *app) *cobra.Command {
	var from loadFlags
	cmd := &cobra.Command{
		Use:   "calibrate RUN",
		Short: "Calibrate the probabilities of a run on its validation data",
		Args:  takes("the directory of a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := from.where.check(); err != nil {
				return err
			}
			files, err := run.Checkpoints(args[0])
			if err != nil {
				return err
			}
			return a.calibrate(cmd.Context(), files, from)
		},
	}
	from.addRecorded(cmd)
	return cmd
}

type calibrateDoc struct {
	Runs []predict.Calibrated `json:"runs"`
}

func (a *app) calibrate(ctx context.Context, files []string, from loadFlags) error {
	o, err := a.openRun(ctx, from, files...)
	if err != nil {
		return err
	}
	defer o.close()
	progress := a.console.Progress("calibrate", "events")
	defer progress.Done()
	var doc calibrateDoc
	for _, file := range files {
		o.load.OnBatch = func(done, total int) { progress.Set(int64(done), int64(total), filepath.Dir(file)) }
		c, err := predict.Calibrate(ctx, filepath.Dir(file), o.load)
		if errors.Is(err, predict.ErrNoCalibration) {
			return &inputError{err}
		}
		if err != nil {
			return loadError(err)
		}
		doc.Runs = append(doc.Runs, c)
	}
	progress.Done()
	return a.emit(doc, func(w io.Writer, s term.Style) error {
		t := term.NewTable(term.Left("run"), term.Right("answers"), term.Right("validation ECE"), term.Right("now"),
			term.Right("test ECE"), term.Right("now"))
		for _, c := range doc.Runs {
			t.Row(c.Run, term.Count(c.Answers), term.Percent(c.Validation.Before), term.Percent(c.Validation.After),
				term.Percent(c.Test.Before), term.Percent(c.Test.After))
		}
		if err := t.Write(w, s); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "\n  %s\n", s.Dim("expected calibration error in percent, 15 bins, random negatives"))
		return err
	})
}
