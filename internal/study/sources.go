package study

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/internal/paper"
)

// source is a data set of the plan.
type source struct {
	Name  string
	Set   *dataset.Set
	hash  string
	path  string      // "" where the name leads there
	parts *[3]float64 // see sizes
}

// Missing is a data set that could not be read, and what would bring it.
type Missing struct {
	Data    string `json:"data"`
	Why     string `json:"why"`
	Command string `json:"command"`
}

// openSources reads the data sets of the exhibits, as far as they are asked for; those that are not there are fetched
// where that can be done, and otherwise noted.
func (r *runner) openSources(ctx context.Context) error {
	if r.Own != nil {
		return r.openOwn(ctx)
	}
	reachable := r.Fetch
	for _, name := range datasets(r.exhibits) {
		if r.Datasets != nil && !slices.Contains(r.Datasets, name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		set, err := dataset.Open(ctx, name, dataset.Options{DataDir: r.DataDir})
		if err != nil && reachable && !broken(err) {
			if reachable = r.reach(); reachable {
				set, err = r.fetch(ctx, name)
			}
		}
		if broken(err) {
			return err
		}
		if err != nil {
			r.missing = append(r.missing, Missing{name, err.Error(), "dygmamba data fetch " + name})
			r.Log.Warn(fmt.Sprintf("%s is not there and will be missing: %v", name, err))
			continue
		}
		r.sources = append(r.sources, &source{Name: name, Set: set, hash: set.Hash()})
		for _, w := range set.Warnings {
			r.Log.Warn(w)
		}
	}
	return ctx.Err()
}

// datasets are those of exhibits, each once.
func datasets(exhibits []paper.Exhibit) (names []string) {
	for _, e := range exhibits {
		for _, d := range e.Datasets {
			if !slices.Contains(names, d) {
				names = append(names, d)
			}
		}
	}
	return names
}

// broken tells a file that is there and wrong from one that is not there.
func broken(err error) bool {
	var wrong *dataset.InputError
	var many *dataset.Problems
	return errors.As(err, &wrong) || errors.As(err, &many)
}

// reach says whether there is a network with the public archive. Nobody waits long for the answer.
func (r *runner) reach() bool {
	resp, err := (&http.Client{Timeout: 5 * time.Second}).Head(dataset.ArchiveURL)
	if err != nil {
		r.Log.Info("the archive of public data sets cannot be reached: what is not here will be missing")
		return false
	}
	resp.Body.Close()
	return resp.StatusCode < 500
}

// fetch downloads a data set, with a quarter of the time there is at most.
func (r *runner) fetch(ctx context.Context, name string) (*dataset.Set, error) {
	if r.Budget > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Budget/4)
		defer cancel()
	}
	r.Log.Info("fetching " + name)
	if _, err := dataset.Fetch(ctx, name, dataset.FetchOptions{Dir: r.DataDir}); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", name, err)
	}
	return dataset.Open(ctx, name, dataset.Options{DataDir: r.DataDir})
}

func (r *runner) close() {
	for _, s := range r.sources {
		s.Set.Close()
	}
}

// of are the data sets of an exhibit that are there.
func (r *runner) of(e paper.Exhibit) (list []*source) {
	for _, name := range e.Datasets {
		for _, s := range r.sources {
			if s.Name == name {
				list = append(list, s)
			}
		}
	}
	return list
}

// shown are all exhibits with each of their data sets that are there.
func (r *runner) shown() iter.Seq2[paper.Exhibit, *source] {
	return func(yield func(paper.Exhibit, *source) bool) {
		for _, e := range r.exhibits {
			for _, set := range r.of(e) {
				if !yield(e, set) {
					return
				}
			}
		}
	}
}

// asked are the models of an exhibit that are wanted.
func (r *runner) asked(e paper.Exhibit) (list []string) {
	for _, m := range e.Models {
		if r.Models == nil || slices.Contains(r.Models, m) {
			list = append(list, m)
		}
	}
	return list
}
