package fetch

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
	"github.com/dygmamba/dygmamba/internal/atomicfile"
)

// unpack checks the three files of a downloaded archive and puts them into r.Dir. None appears unless all are right.
func (r *Report) unpack(ctx context.Context, archive string, o Options) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return input.FileError(archive, fmt.Sprintf("no readable zip archive (%v)", err),
			"the whole archive: fetch it again")
	}
	defer z.Close()
	byName := map[string]*zip.File{}
	for _, f := range z.File {
		byName[path.Base(f.Name)] = f // in some archives they lie in a folder
	}
	known := recorded(r.Dir)
	var ready []*atomicfile.File
	defer func() {
		for _, p := range ready {
			p.Discard()
		}
	}()
	for _, suffix := range []string{".npy", "_node.npy", ".csv"} { // the csv last: with it the data set is there
		name := "ml_" + r.Name + suffix
		f := byName[name]
		if f == nil {
			return input.FileError(archive, "no "+name, "an archive with it")
		}
		p, file, err := r.extract(ctx, f, o)
		if err != nil {
			return err
		}
		ready = append(ready, p)
		want, ok := pinned[name]
		if file.Pinned = ok; !ok {
			want, ok = known[name]
		}
		if ok && want != file.SHA256 {
			return input.FileError(name, "SHA-256 "+file.SHA256, want+": the file is not the one known under this name")
		}
		r.Files = append(r.Files, file)
	}
	if err := r.record(); err != nil {
		return err
	}
	for len(ready) > 0 {
		if err := ready[0].Commit(); err != nil {
			return err
		}
		ready = ready[1:]
	}
	return nil
}

// extract writes one file beside its place.
func (r *Report) extract(ctx context.Context, f *zip.File, o Options) (*atomicfile.File, File, error) {
	file := File{Name: path.Base(f.Name)}
	damaged := func(why error) error {
		return input.FileError(f.Name, fmt.Sprintf("damaged zip data (%v)", why),
			"an undamaged archive: fetch it again")
	}
	body, err := f.Open()
	if err != nil {
		return nil, file, damaged(err)
	}
	defer body.Close()
	p, err := atomicfile.Create(filepath.Join(r.Dir, file.Name))
	if err != nil {
		return nil, file, err
	}
	sum := sha256.New()
	w := &counter{ctx: ctx, tell: func(n int64) {
		o.Progress(Progress{File: file.Name, Done: n, Total: int64(f.UncompressedSize64)})
	}}
	file.Bytes, err = io.Copy(io.MultiWriter(p, sum, w), body)
	if err != nil {
		p.Discard()
		var disk *os.PathError
		if errors.As(err, &disk) || ctx.Err() != nil {
			return nil, file, err
		}
		return nil, file, damaged(err)
	}
	file.SHA256 = hex.EncodeToString(sum.Sum(nil))
	return p, file, nil
}
