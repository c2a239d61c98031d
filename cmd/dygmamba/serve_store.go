package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/eventlog/embedded"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
	"github.com/dygmamba/dygmamba/internal/term"
	"github.com/dygmamba/dygmamba/serve"
)

func newServeExport(a *app) *cobra.Command {
	var store, out string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the events of a store as a table",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			format := map[string]string{".csv": dataset.FormatCSV, ".parquet": dataset.FormatParquet}[filepath.Ext(out)]
			switch {
			case store == "" || out == "":
				return usagef("--store and --out are needed")
			case format == "":
				return usagef("--out is %q, must end with .csv or .parquet", out)
			}
			log, err := openStore(store)
			if err != nil {
				return err
			}
			defer log.Close()
			var done serve.Exported
			if err := atomicfile.Write(out, func(w io.Writer) (err error) {
				done, err = serve.Export(cmd.Context(), log, w, format)
				return err
			}); err != nil {
				return fmt.Errorf("export: %w", err)
			}
			return a.emit(done, func(w io.Writer, _ term.Style) error {
				_, err := fmt.Fprintf(w, "%s: %s, sequences %d to %d\n", out, term.Counted(done.Events, "event"),
					done.First, done.Last)
				return err
			})
		},
	}
	dirVar(cmd, &store, "store", "`directory` of the store; no server may use it meanwhile")
	cmd.Flags().StringVar(&out, "out", "", "`file` to write, .csv or .parquet")
	return cmd
}

// openStore opens the log of a store that is there.
func openStore(dir string) (*embedded.Log, error) {
	if _, err := os.Stat(filepath.Join(dir, embedded.File)); err != nil {
		return nil, &inputError{fmt.Errorf("--store %s is no store with events: %w", dir, err)}
	}
	log, err := embedded.Open(dir, embedded.Options{})
	switch {
	case errors.Is(err, eventlog.ErrInUse):
		return nil, fmt.Errorf("%w; stop the server, or restore a backup of it (serve backup) and use that", err)
	case errors.Is(err, eventlog.ErrDamaged):
		return nil, &inputError{err}
	}
	return log, err
}

func newServeBackup(a *app) *cobra.Command {
	var url, token, out string
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy the store of a running server into one file",
		Args:  takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if out == "" {
				return usagef("--out is needed")
			}
			size, err := backup(cmd.Context(), url, token, out)
			if err != nil {
				return fmt.Errorf("backup: %w", err)
			}
			return a.emit(map[string]int64{"bytes": size}, func(w io.Writer, _ term.Style) error {
				_, err := fmt.Fprintf(w, "%s: %s bytes\n", out, term.Count(int(size)))
				return err
			})
		},
	}
	cmd.Flags().StringVar(&url, "url", "http://127.0.0.1:8080", "`address` of the server")
	cmd.Flags().StringVar(&token, "token-file", "", "`file` with a token that has the right admin")
	cmd.Flags().StringVar(&out, "out", "", "`file` to write, a tar archive")
	return cmd
}

// backup asks a server for its backup and writes it into a file, which is there only if it is whole.
func backup(ctx context.Context, url, token, out string) (size int64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/v1/admin/backup", nil)
	if err != nil {
		return 0, err
	}
	if token != "" {
		raw, err := os.ReadFile(token)
		if err != nil {
			return 0, err
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(raw)))
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
		return 0, fmt.Errorf("the server answers %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	err = atomicfile.Write(out, func(w io.Writer) (err error) {
		size, err = io.Copy(w, answer.Body)
		return err
	})
	return size, err
}

func newServeRestore(a *app) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Make a store from a backup",
		Args:  takes("a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if store == "" {
				return usagef("--store is needed: the directory to make")
			}
			f, err := os.Open(args[0])
			if err != nil {
				return &inputError{err}
			}
			defer f.Close()
			if err := serve.RestoreBackup(cmd.Context(), f, store, embedded.File); err != nil {
				return &inputError{fmt.Errorf("restore %s: %w", args[0], err)}
			}
			log, err := openStore(store)
			if err != nil {
				return err
			}
			last := log.Last()
			if err := log.Close(); err != nil {
				return err
			}
			return a.emit(map[string]uint64{"last": last}, func(w io.Writer, _ term.Style) error {
				_, err := fmt.Fprintf(w, "%s: events up to sequence %d\n", store, last)
				return err
			})
		},
	}
	dirVar(cmd, &store, "store", "`directory` to make; it must not exist, or be empty")
	return cmd
}
