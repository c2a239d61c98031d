package train

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/eval"
	"github.com/dygmamba/dygmamba/internal/await"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// config describes the run: everything needed to repeat it.
func (t *trainer) config(ctx context.Context) (run.Config, error) {
	spec, err := json.Marshal(t.Spec)
	if err != nil {
		return run.Config{}, err
	}
	negatives, err := t.Protocol.NegativesHash(ctx, eval.Val, protocol.RandomNegatives)
	if err != nil {
		return run.Config{}, fmt.Errorf("validation negatives: %w", err)
	}
	var limits *eval.Limits
	if l := t.Protocol.Limits(); l.Any() {
		limits = &l
	}
	data, err := await.Do(ctx, func() (string, error) { return t.Set.Hash(), nil })
	if err != nil {
		return run.Config{}, err
	}
	facts := run.FactsOf(t.Set)
	ranks, hosts := t.ranks()
	return run.Config{
		Model: t.Run.Model, Spec: spec, Data: t.Set.Name, Path: t.seen(t.Set.Path), Backbone: t.seen(t.Backbone),
		Sampling: t.Set.Sampling, Seed: t.Seed, ByAP: t.ByAP, Final: t.Strategies, TF32: device.Rounds(t.Device),
		Params: t.Learner.Model.Params().Count(),
		Hashes: run.Hashes{Data: data, Split: t.Protocol.Split().Hash, Negatives: negatives}, Facts: &facts,
		Limits: limits, From: t.from, Fit: t.refit(), Ranks: ranks, Shards: t.shards(), Hosts: hosts,
	}, nil
}

// seen leads from the run's directory to a file, so that both can be moved together.
func (t *trainer) seen(file string) string {
	if file == "" {
		return ""
	}
	dir, err1 := filepath.Abs(t.Dir)
	whole, err2 := filepath.Abs(file)
	if err1 != nil || err2 != nil {
		return file
	}
	path, err := filepath.Rel(dir, whole)
	if err != nil { // on another drive
		return whole
	}
	return filepath.ToSlash(path)
}
