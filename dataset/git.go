package dataset

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/dataset/internal/repo"
	"github.com/dygmamba/dygmamba/dataset/internal/table"
)

// GitOptions say how the history of a repository becomes events.
type GitOptions struct {
	Anonymous bool              // people are called p0, p1, …, not by their names
	Commits   func(commits int) // told now and then how many were read; may be nil
}

// ImportGit turns the history of a Git repository into events: a person changed a file at a time, with the file's first
// directory and its ending as features. It runs the installed git. Options that name columns are not looked at.
func ImportGit(ctx context.Context, dir, out string, g GitOptions, o ImportOptions) (*ImportReport, error) {
	tmp, err := os.MkdirTemp(filepath.Dir(out), ".history-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(tmp, filepath.Base(whole)+".csv")
	n, err := writeHistory(ctx, dir, file, g)
	var refused *repo.Refused
	if errors.As(err, &refused) {
		return nil, input.FileError(dir, "no history: "+refused.Error(), "the directory of a Git repository")
	}
	if err != nil {
		return nil, err
	}
	if n.Changes == 0 {
		return nil, input.FileError(dir, "a repository whose commits change no file", "at least one")
	}
	o.Source, o.Target, o.Time, o.Bipartite = repo.Columns[0], repo.Columns[1], repo.Columns[2], true
	o.Format, o.Delimiter, o.NoHeader, o.TimeLayout, o.TimeUnit = table.FormatCSV, ",", false, "", "s"
	if o.Features == nil {
		o.Features = repo.Columns[3:]
	}
	return table.Import(ctx, []string{file}, out, o)
}

func writeHistory(ctx context.Context, dir, file string, g GitOptions) (repo.Counts, error) {
	f, err := os.Create(file)
	if err != nil {
		return repo.Counts{}, err
	}
	defer f.Close()
	n, err := repo.Write(ctx, dir, f, repo.Options{Anonymous: g.Anonymous, Progress: g.Commits})
	if err == nil {
		err = f.Close()
	}
	return n, err
}
