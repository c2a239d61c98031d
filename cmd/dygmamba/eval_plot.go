package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/dygmamba/dygmamba/internal/page"
)

// reliabilityFile is the plot that eval leaves beside its document.
const reliabilityFile = "reliability.svg"

// draw plots what came true beside what was said, a figure for each kind of negatives of the first setting and the
// first seed. Where scores are no log-odds there is nothing to draw, and a plot of an earlier evaluation goes away.
func (d *evalDoc) draw(path string) error {
	var picture page.Picture
	for i, r := range d.Results {
		if d.opens(i) && r.Scenario == d.Results[0].Scenario && r.Reliability != nil {
			picture = append(picture, page.ReliabilityFigure(string(r.Negatives)+" negatives", *r.Reliability))
		}
	}
	if picture == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return replaceFile(path, picture.Write)
}
