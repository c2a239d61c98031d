package serve

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// The files of a store besides the log's.
const (
	snapshotFile = "snapshot"
	baseFile     = "base.json"
	learnedDir   = "learned"
)

// getBackup answers with a tar file of the store: the log as of now, the snapshot, the base and the learned models. The
// server goes on taking events meanwhile.
func (s *Server) getBackup(w http.ResponseWriter, r *http.Request) (any, error) {
	log, ok := s.options.Log.(eventlog.Copier)
	if !ok || s.snapshotter.File == "" {
		return nil, fail("conflict", "this server has no store of its own to back up: want --store without --log")
	}
	snapshot, copied, err := s.snapshotter.withLog(log)
	if err != nil {
		return nil, err
	}
	defer copied.Close()
	if snapshot != nil {
		defer snapshot.Close()
	}
	h := w.Header()
	h.Set("Content-Type", "application/x-tar")
	h.Set("Content-Disposition", `attachment; filename="dygmamba-backup.tar"`)
	out := tar.NewWriter(&patientWriter{w: w, control: http.NewResponseController(w)})
	if err := s.backup(out, snapshot, copied); err != nil {
		s.log.Error("a backup was cut off: " + err.Error())
		panic(http.ErrAbortHandler) // the client must not take it for a whole one
	}
	return nil, nil
}

// withLog opens the snapshot and a copy of the log that belong together: the log is not trimmed beyond the snapshot.
func (k *snapshotter) withLog(log eventlog.Copier) (*os.File, eventlog.Copy, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := os.Open(k.File)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	copied, err := log.Copy()
	if err != nil && f != nil {
		f.Close()
	}
	return f, copied, err
}

func (s *Server) backup(out *tar.Writer, snapshot *os.File, copied eventlog.Copy) error {
	dir := filepath.Dir(s.snapshotter.File)
	add := func(name string, size int64, write func(io.Writer) error) error {
		h := &tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: time.Now(), Format: tar.FormatPAX}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		return write(out)
	}
	file := func(name string, f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		return add(name, info.Size(), func(w io.Writer) error {
			_, err := io.CopyN(w, f, info.Size())
			return err
		})
	}
	if snapshot != nil {
		if err := file(snapshotFile, snapshot); err != nil {
			return err
		}
	}
	if err := add(copied.Name(), copied.Size(), func(w io.Writer) error {
		_, err := copied.WriteTo(w)
		return err
	}); err != nil {
		return err
	}
	names := []string{baseFile}
	learned, _ := filepath.Glob(filepath.Join(dir, learnedDir, "*"))
	for _, path := range learned {
		names = append(names, learnedDir+"/"+filepath.Base(path))
	}
	for _, name := range names {
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a learned model may just have been removed
		}
		if err == nil {
			err = errors.Join(file(name, f), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// patientWriter gives a client time for every part of a long answer.
type patientWriter struct {
	w       io.Writer
	control *http.ResponseController
}

func (p *patientWriter) Write(b []byte) (int, error) {
	p.control.SetWriteDeadline(time.Now().Add(answerTime))
	return p.w.Write(b)
}

// RestoreBackup makes the store of a directory from a backup. The directory must not exist, or be empty.
func RestoreBackup(ctx context.Context, backup io.Reader, dir, logFile string) (err error) {
	if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
		return fmt.Errorf("%s is not empty, must be a new directory", dir)
	}
	part := filepath.Clean(dir) + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := os.MkdirAll(filepath.Join(part, learnedDir), 0o755); err != nil {
		return err
	}
	in, found := tar.NewReader(backup), map[string]bool{}
	for {
		h, err := in.Next()
		if err == io.EOF {
			break
		}
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return fmt.Errorf("read the backup: %w", err)
		}
		name, inside := strings.CutPrefix(h.Name, learnedDir+"/")
		known := h.Name == snapshotFile || h.Name == baseFile || h.Name == logFile ||
			inside && filepath.Base(name) == name && filepath.IsLocal(name)
		if !known || h.Typeflag != tar.TypeReg {
			return fmt.Errorf("read the backup: it has %q, which no store has", clip(h.Name))
		}
		err = atomicfile.Write(filepath.Join(part, filepath.FromSlash(h.Name)), func(w io.Writer) error {
			_, err := io.Copy(w, in)
			return err
		})
		if err != nil {
			return fmt.Errorf("read the backup: %s: %w", h.Name, err)
		}
		found[h.Name] = true
	}
	if !found[logFile] {
		return fmt.Errorf("read the backup: it has no %s", logFile)
	}
	if found[snapshotFile] {
		_, f, err := openSnapshot(filepath.Join(part, snapshotFile))
		if err != nil {
			return fmt.Errorf("the backup's snapshot: %w", err)
		}
		f.Close()
	}
	os.Remove(dir) // an empty one
	return os.Rename(part, dir)
}

// base is the data set that a store was made with.
type base struct {
	Data   string `json:"data"` // its hash
	Name   string `json:"name"`
	Events int    `json:"events"`
	Nodes  int    `json:"nodes"`
}

// base is that of the server, and where it is noted.
func (k *snapshotter) base() (now base, path string) {
	set := k.server.options.Set
	now = base{k.data(), set.Name, set.Log.Len(), max(0, set.NumNodes()-1)}
	return now, filepath.Join(filepath.Dir(k.File), baseFile)
}

// checkBase refuses a data set that is not the one of the store. The events of the store would be counted twice if the
// data set had them already.
func (k *snapshotter) checkBase() error {
	if k.File == "" {
		return nil
	}
	now, path := k.base()
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var was base
	if err == nil {
		err = json.Unmarshal(raw, &was)
	}
	if err != nil {
		return fmt.Errorf("%s, which says what data set the store belongs to: %w", path, err)
	}
	if was.Data == now.Data {
		return nil
	}
	hint := "the data set that the store was made with"
	if now.Events > was.Events {
		hint = "that one, or a new store; if this data set already contains the events of the store, they would be " +
			"counted twice"
	}
	return fmt.Errorf("store %s: %w: %s, %d events with hash %.12s; this one has %d with hash %.12s; want %s",
		filepath.Dir(k.File), errOtherData, cmp.Or(was.Name, "without a name"), was.Events, was.Data, now.Events,
		now.Data, hint)
}

// noteBase notes the data set in a store that is new, or was made by a version that did not do so.
func (k *snapshotter) noteBase(ctx context.Context) error {
	if k.File == "" {
		return nil
	}
	now, path := k.base()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := k.server.startsInside(ctx); err != nil {
		return err
	}
	return atomicfile.WriteJSON(path, now)
}

// startsInside refuses a log whose first events are in the data set already. It is for stores that do not say which
// data set they belong to.
func (s *Server) startsInside(ctx context.Context) error {
	const some = 100
	var failed error
	var list []eventlog.Event
	after, _ := s.logBegin()
	for e := range eventsOf(ctx, s.options.Log, after, s.options.Log.Last(), &failed) {
		if list = append(list, e.Event); len(list) == some {
			break
		}
	}
	type key struct {
		src, dst string
		time     float64
	}
	missing := map[key]bool{}
	for _, e := range list {
		missing[key{e.Src, e.Dst, e.Time}] = true
	}
	all, names := s.options.Set.Log.All(), s.engine.names()
	for i := range all.Len() {
		if len(missing) == 0 {
			break
		}
		delete(missing, key{names.Name(all.Src[i]), names.Name(all.Dst[i]), all.Time[i]})
	}
	if len(list) > 0 && len(missing) == 0 && failed == nil {
		return fmt.Errorf("%w: the data set already contains the first %d events of the store, which would be counted "+
			"twice; want the data set that the store was made with, or a new store", errOtherData, len(list))
	}
	return failed
}
