package study

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/dygmamba/dygmamba/dataset"
)

// source is a data set of the plan.
type source struct {
	Name string
	Set  *dataset.Set // nil: it is not there
	hash string
	why  string // it is not there
}

// Missing is a data set that could not be read, and what would bring it.
type Missing struct {
	Data    string `json:"data"`
	Why     string `json:"why"`
	Command string `json:"command"`
}

func (s *source) missing() Missing {
	return Missing{s.Name, s.why, "dygmamba data fetch " + s.Name}
}

// openSources reads data sets; those that are not there are fetched where that can be done, and otherwise noted.
func (r *runner) openSources(ctx context.Context, names []string) error {
	reachable := r.Fetch
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		s := &source{Name: name}
		r.sources = append(r.sources, s)
		set, err := dataset.Open(ctx, name, dataset.Options{DataDir: r.DataDir})
		if err != nil && reachable && !s.broken(err) {
			if reachable = r.reach(ctx); reachable {
				set, err = r.fetch(ctx, name)
			}
		}
		if s.broken(err) {
			return err
		}
		if err != nil {
			s.why = err.Error()
			r.log().Warn(fmt.Sprintf("%s is not there and will be missing: %v", name, err))
			continue
		}
		s.Set, s.hash = set, set.Hash()
		for _, w := range set.Warnings {
			r.log().Warn(w)
		}
	}
	return ctx.Err()
}

// broken tells a file that is there and wrong from one that is not there.
func (s *source) broken(err error) bool {
	var wrong *dataset.InputError
	var many *dataset.Problems
	return errors.As(err, &wrong) || errors.As(err, &many)
}

// reach says whether there is a network with the public archive. Nobody waits long for the answer.
func (r *runner) reach(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, dataset.ArchiveURL, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.log().Info("the archive of public data sets cannot be reached: what is not here will be missing")
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
	r.log().Info("fetching " + name)
	if _, err := dataset.Fetch(ctx, name, dataset.FetchOptions{Dir: r.DataDir}); err != nil {
		return nil, fmt.Errorf("fetch %s: %w", name, err)
	}
	return dataset.Open(ctx, name, dataset.Options{DataDir: r.DataDir})
}

func (r *runner) closeSources() {
	for _, s := range r.sources {
		if s.Set != nil {
			s.Set.Close()
		}
	}
}

// source is one of the plan's that is there, or nil.
func (r *runner) source(name string) *source {
	for _, s := range r.sources {
		if s.Name == name && s.Set != nil {
			return s
		}
	}
	return nil
}
