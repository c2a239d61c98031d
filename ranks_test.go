package dygmamba_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
	"github.com/dygmamba/dygmamba/dataset"
	"github.com/dygmamba/dygmamba/device/cpu"
	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
	"github.com/dygmamba/dygmamba/train"
)

// rankCase is a model whose training is shared, in a size that trains in a second.
type rankCase struct {
	model    string
	order    protocol.Order
	settings []string
}

var rankCases = []rankCase{
	{"dygmamba", "", []string{"channel_embedding_dim=8", "time_feat_dim=8", "max_input_sequence_length=8",
		"max_interaction_times=4"}},
	{"walkmamba", "", []string{"channel_embedding_dim=8", "time_feat_dim=8", "max_input_sequence_length=8",
		"max_interaction_times=4"}},
	{"graphmixer", "", []string{"time_feat_dim=8", "num_neighbors=4"}},
	{"tgn", protocol.Arrival, []string{"time_feat_dim=8", "num_neighbors=3"}},
	{"tgn", protocol.Strict, []string{"time_feat_dim=8", "num_neighbors=3"}},
	// neighbours that are picked at random, and rows as long as the longest of a call
	{"tgat", "", []string{"time_feat_dim=8", "num_neighbors=3", "sample_neighbor_strategy=uniform"}},
	{"dygformer", "", []string{"channel_embedding_dim=8", "time_feat_dim=8", "max_input_sequence_length=8"}},
}

func (c rankCase) options(set *dataset.Set, dir string, settings ...string) dygmamba.TrainOptions {
	all := append([]string{"node_feat_dim=8", "edge_feat_dim=8", "num_epochs=2", "batch_size=90"}, c.settings...)
	return dygmamba.TrainOptions{Set: set, Model: c.model, Order: c.order, Dir: dir, Seeds: []uint64{3}, Threads: 1,
		Settings: append(all, settings...)}
}

// trainTogether runs a training on ranks that are goroutines, each with a data set and a device of its own.
func trainTogether(ctx context.Context, t *testing.T, ranks int, o func(*dataset.Set) dygmamba.TrainOptions) error {
	t.Helper()
	errs := make([]error, ranks)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for i, e := range collective.Local(ranks) {
		all.Go(func() {
			errs[i] = trainRank(ctx, e, o)
			if errs[i] != nil {
				cancel()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

func trainRank(ctx context.Context, e collective.Engine, options func(*dataset.Set) dygmamba.TrainOptions) error {
	g, err := collective.New(ctx, e)
	if err != nil {
		return err
	}
	p := dataset.DefaultPeriodic
	p.Events = 500
	set, err := dataset.Periodic(p)
	if err != nil {
		return err
	}
	dev := cpu.New(cpu.Options{Threads: 1})
	defer dev.Close()
	o := options(set)
	o.Device, o.Ranks = dev, g
	_, err = dygmamba.Train(ctx, o)
	return err
}

// files are the bytes that must not depend on the number of ranks.
func files(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	for _, name := range []string{run.CheckpointFile, run.LastFile} {
		raw, err := os.ReadFile(filepath.Join(run.SeedDir(dir, 3), name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(raw))
	}
	return strings.Join(list, "")
}

// results are the numbers of result.json.
func results(t *testing.T, dir string) string {
	t.Helper()
	r, err := run.Open(run.SeedDir(dir, 3))
	if err != nil {
		t.Fatal(err)
	}
	found, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(found.Results)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestRanks wants the same bytes from 1, 2, 3 and 4 ranks.
func TestRanks(t *testing.T) {
	for _, c := range rankCases {
		t.Run(c.model+" "+string(c.order), func(t *testing.T) {
			t.Parallel()
			var want, measured string
			numbers := []int{1, 2, 4}
			if c.model == "dygmamba" {
				numbers = []int{1, 2, 3, 4, 8}
			}
			for _, ranks := range numbers {
				dir := t.TempDir()
				err := trainTogether(t.Context(), t, ranks, func(s *dataset.Set) dygmamba.TrainOptions {
					return c.options(s, dir)
				})
				if err != nil {
					t.Fatal(err)
				}
				got, found := files(t, dir), results(t, dir)
				if ranks == 1 {
					want, measured = got, found
				}
				if got != want {
					t.Errorf("%d ranks write other bytes than one", ranks)
				}
				if found != measured {
					t.Errorf("%d ranks measure %s, one measures %s", ranks, found, measured)
				}
				config, err := run.Open(run.SeedDir(dir, 3))
				if err != nil || config.Config.Ranks != ranks || config.Config.Shards != train.DefaultShards {
					t.Errorf("%v: %d ranks and %d shards were recorded", err, config.Config.Ranks, config.Config.Shards)
				}
			}
		})
	}
}

// TestRanksResume interrupts two ranks in the middle of an epoch and goes on with four.
func TestRanksResume(t *testing.T) {
	for _, c := range []rankCase{rankCases[0], rankCases[3], rankCases[4], rankCases[5]} {
		t.Run(c.model+" "+string(c.order), func(t *testing.T) {
			t.Parallel()
			whole, dir := t.TempDir(), t.TempDir()
			err := trainTogether(t.Context(), t, 1, func(s *dataset.Set) dygmamba.TrainOptions {
				return c.options(s, whole)
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			err = trainTogether(ctx, t, 2, func(s *dataset.Set) dygmamba.TrainOptions {
				o := c.options(s, dir)
				o.OnStep = func(_ uint64, s train.Step) {
					if s.Epoch == 2 && s.Done == 180 {
						cancel()
					}
				}
				return o
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want an interruption", err)
			}
			if files := files(t, dir); files == "" {
				t.Fatal("nothing was saved")
			}
			err = trainTogether(t.Context(), t, 4, func(s *dataset.Set) dygmamba.TrainOptions {
				o := c.options(s, dir)
				o.Resume = true
				return o
			})
			if err != nil {
				t.Fatal(err)
			}
			if files(t, dir) != files(t, whole) || results(t, dir) != results(t, whole) {
				t.Error("resumed with four ranks it ends elsewhere than without an interruption")
			}
		})
	}
}

func TestRanksRefuse(t *testing.T) {
	for want, change := range map[string]func(*dygmamba.TrainOptions){
		"time limit":       func(o *dygmamba.TrainOptions) { o.MaxTime = time.Second },
		"all events":       func(o *dygmamba.TrainOptions) { o.FitAll = true },
		"task":             func(o *dygmamba.TrainOptions) { o.Task = protocol.NodeClassification },
		"3 shards":         func(o *dygmamba.TrainOptions) { o.Shards = 3 },
		"2 ranks for 1 sh": func(o *dygmamba.TrainOptions) { o.Shards = 1 },
	} {
		err := trainTogether(t.Context(), t, 2, func(s *dataset.Set) dygmamba.TrainOptions {
			o := rankCases[0].options(s, "")
			change(&o)
			return o
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something about %q", err, want)
		}
	}
	dir := t.TempDir()
	o := func(s *dataset.Set) dygmamba.TrainOptions { return rankCases[0].options(s, dir, "num_epochs=1") }
	if err := trainTogether(t.Context(), t, 1, o); err != nil {
		t.Fatal(err)
	}
	p := dataset.DefaultPeriodic
	p.Events = 500
	set, err := dataset.Periodic(p)
	if err != nil {
		t.Fatal(err)
	}
	alone := o(set)
	alone.Resume = true
	if _, err := dygmamba.Train(t.Context(), alone); err == nil || !strings.Contains(err.Error(), "shards was 8") {
		t.Errorf("resumed without ranks: %v", err)
	}
	var different atomic.Int32
	err = trainTogether(t.Context(), t, 2, func(s *dataset.Set) dygmamba.TrainOptions {
		return rankCases[0].options(s, "", fmt.Sprintf("num_epochs=%d", different.Add(1)))
	})
	if err == nil || !strings.Contains(err.Error(), "differs between ranks") {
		t.Errorf("ranks with different settings: %v", err)
	}
}
