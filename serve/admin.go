package serve

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dygmamba/dygmamba/run"
)

// maxCheckpoint is the size in bytes of a checkpoint that clients may load.
const maxCheckpoint = 64 << 30

// Reload makes another checkpoint the current model without dropping a request. "" is the path that the server was
// started with. The caller is trusted: the path is not confined to Options.Models.
func (s *Server) Reload(ctx context.Context, path string) error {
	_, err := s.models.replace(ctx, cmp.Or(path, s.options.Checkpoint), false)
	return err
}

// postReload loads the checkpoint that the body names, or again the one that the server was started with.
func (s *Server) postReload(w http.ResponseWriter, r *http.Request) (any, error) {
	path, named := s.options.Checkpoint, false
	if err := s.readJSON(w, r, func(sc *scanner) {
		if sc.peek() == 0 {
			return // an empty body
		}
		sc.object([]string{"checkpoint"}, func(int) {
			path, named = strings.Clone(sc.string("a path on the server's machine")), true
		})
	}); err != nil {
		return nil, err
	}
	if named {
		if err := s.allowed(path); err != nil {
			return nil, fail("conflict", "the model stays as it is: %v", err)
		}
	}
	g, err := s.models.replace(r.Context(), path, false)
	if err != nil {
		return nil, fail("conflict", "the model stays as it is: %v", err)
	}
	return g, nil
}

// allowed says why clients may not load the checkpoint of a path. It must be a regular file below a directory of
// models, wherever links lead. The error for all others is the same, so that it tells nothing about them.
func (s *Server) allowed(path string) error {
	dirs := append([]string{s.options.Checkpoint}, s.options.Models...)
	if info, err := os.Stat(dirs[0]); err == nil && !info.IsDir() {
		dirs[0] = filepath.Dir(dirs[0])
	}
	refused := fmt.Errorf("checkpoint %q is not a run or a file below %s", clip(path), strings.Join(dirs, " or "))
	if path == "" || !below(path, dirs) {
		return refused
	}
	files, err := run.Checkpoints(path)
	if err != nil {
		return err
	}
	for _, f := range files {
		info, err := os.Stat(f)
		switch {
		case err != nil || !info.Mode().IsRegular() || !below(f, dirs):
			return refused
		case info.Size() > maxCheckpoint:
			return fmt.Errorf("checkpoint %q has %d bytes, more than %d", clip(path), info.Size(), int64(maxCheckpoint))
		}
	}
	return nil
}

// below says whether a path leads to one of some directories, or to something in it.
func below(path string, dirs []string) bool {
	real, err := resolved(path)
	return err == nil && slices.ContainsFunc(dirs, func(dir string) bool {
		dir, err := resolved(dir)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(dir, real)
		return err == nil && filepath.IsLocal(rel)
	})
}

// resolved is an absolute path without links.
func resolved(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

func (s *Server) postRollback(w http.ResponseWriter, r *http.Request) (any, error) {
	g, err := s.models.rollback()
	if err != nil {
		return nil, err
	}
	s.learner.rolledBack(g)
	return g, nil
}

func (s *Server) postSnapshot(w http.ResponseWriter, r *http.Request) (any, error) {
	if s.snapshotter.File == "" {
		return nil, fail("conflict", "this server writes no snapshots: it has no store")
	}
	if err := s.snapshotter.write(); err != nil {
		return nil, fail("snapshot_failed", "%v", err)
	}
	return s.snapshotter.doc(), nil
}
