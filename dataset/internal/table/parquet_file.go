package table

import (
	"fmt"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/dygmamba/dygmamba/dataset/internal/input"
)

// readParquet opens the file and hands it on, with the names of its columns. Whatever is damaged in it is complained
// about: the package that reads the format trusts it more than we do, and panics.
func (r *tableReader) readParquet(read func(file *parquet.File, names []string) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = r.damaged(-1, p)
		}
	}()
	f := r.in.Disk()
	if f == nil {
		return input.FileError(r.path, "a Parquet file that cannot be read back and forth",
			"a plain Parquet file on disk")
	}
	file, err := parquet.OpenFile(f, r.in.Size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return r.damaged(-1, err)
	}
	var names []string
	for _, path := range file.Schema().Columns() {
		if !slices.Contains(names, path[0]) {
			names = append(names, path[0])
		}
	}
	return read(file, names)
}

// damaged complains of what is wrong at a row, or with the whole file at row −1.
func (r *tableReader) damaged(row int, why any) *input.Error {
	return &input.Error{File: r.path, Row: row, Found: fmt.Sprintf("damaged Parquet data (%v)", why),
		Want: "an undamaged file"}
}
