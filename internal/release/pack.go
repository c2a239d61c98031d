package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// packed is a file of an archive, which has it under the last element of its path.
type packed struct {
	path string
	mode fs.FileMode
}

// pack writes an archive whose bytes depend on the content of the files, and not on their times, owners or places.
func pack(w io.Writer, ending, dir string, at time.Time, files []packed) error {
	write := packTar
	if ending == ".zip" {
		write = packZip
	}
	return write(w, func(add func(name string, mode fs.FileMode, content []byte) error) error {
		for _, f := range files {
			content, err := os.ReadFile(f.path)
			if err != nil {
				return err
			}
			if err := add(path.Join(dir, filepath.Base(f.path)), f.mode, content); err != nil {
				return err
			}
		}
		return nil
	}, at)
}

// each calls add for every file of an archive.
type each func(add func(name string, mode fs.FileMode, content []byte) error) error

func packTar(w io.Writer, files each, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(compressed)
	err = files(func(name string, mode fs.FileMode, content []byte) error {
		header := tar.Header{Name: name, Mode: int64(mode), Size: int64(len(content)), ModTime: at,
			Format: tar.FormatUSTAR}
		if err := out.WriteHeader(&header); err != nil {
			return err
		}
		_, err := out.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func packZip(w io.Writer, files each, at time.Time) error {
	out := zip.NewWriter(w)
	err := files(func(name string, mode fs.FileMode, content []byte) error {
		header := zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
		header.SetMode(mode)
		f, err := out.CreateHeader(&header)
		if err != nil {
			return err
		}
		_, err = f.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return out.Close()
}
