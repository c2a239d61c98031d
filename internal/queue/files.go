package queue

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// keep puts a run directory into the store, as a whole, and returns its digest. What is there stays until the new
// one is complete.
func (q *Queue) keep(ctx context.Context, id, dir string) (digest string, err error) {
	raw, err := pack(dir)
	if err != nil {
		return "", err
	}
	err = again(ctx, func(ctx context.Context) error {
		info, err := q.files.PutBytes(ctx, id, raw)
		if err == nil {
			digest = info.Digest
		}
		return err
	})
	return digest, err
}

// fetch brings what is kept of an order to a directory; nothing where nothing is kept. A digest, if there is one, is
// that of the state to wait for: a broker may be behind.
func (q *Queue) fetch(ctx context.Context, id, digest, dir string) error {
	var raw []byte
	err := again(ctx, func(ctx context.Context) error {
		info, err := q.files.GetInfo(ctx, id)
		if errors.Is(err, js.ErrObjectNotFound) && digest == "" {
			return errFinal
		}
		if err != nil {
			return err
		}
		if digest != "" && info.Digest != digest {
			return fmt.Errorf("the store has %s of run %s, want %s", info.Digest, id, digest)
		}
		raw, err = q.files.GetBytes(ctx, id) // which compares the digest
		return err
	})
	if errors.Is(err, errFinal) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("fetch run %s: %w", id, err)
	}
	return unpack(raw, dir)
}

// pack makes an archive of the files of a directory. Files that are being written are left out: they are replaced as a
// whole.
func pack(dir string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".tmp" || filepath.Base(path) == "lock" {
			return err
		}
		raw, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) { // it was replaced
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		err = w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(raw))})
		if err != nil {
			return err
		}
		_, err = w.Write(raw)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keep %s: %w", dir, err)
	}
	return b.Bytes(), w.Close()
}

// unpack writes the files of an archive. Names that lead out of the directory are refused.
func unpack(raw []byte, dir string) error {
	r := tar.NewReader(bytes.NewReader(raw))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(h.Name) || h.Typeflag != tar.TypeReg {
			return fmt.Errorf("a kept run has an entry %q, want files below its directory", h.Name)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		err = atomicfile.Write(path, func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
		if err != nil {
			return err
		}
	}
}
