// Package eval answers: how good is it? It measures anything that scores queries, under the published protocol.
package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"

	"github.com/dygmamba/dygmamba/event"
	"github.com/dygmamba/dygmamba/replay"
	"github.com/dygmamba/dygmamba/sample"
)

// Result is what an evaluation found. Without any events it has no batches, and its measures are 0.
type Result struct {
	AP        float64  `json:"ap"` // means over batches, the published way
	AUC       float64  `json:"auc"`
	GlobalAP  float64  `json:"global_ap"` // of all scores at once
	GlobalAUC float64  `json:"global_auc"`
	Loss      *float64 `json:"loss,omitempty"`    // binary cross entropy, mean over batches; nil for scores that are no log-odds
	Ranking   *Ranking `json:"ranking,omitempty"` // with several negatives for each positive
	Batches   int      `json:"batches"`
	Positives int      `json:"positives"`
	Negatives string   `json:"negatives_hash"` // SHA-256 of the negatives: for every batch "u,v;u,v;…" and a newline
}

// Run replays events and measures the scores. Negatives start over first, so that they are the same in every evaluation; what a stateful
// scorer remembers is left as it is after the last batch.
func Run(ctx context.Context, s replay.Scorer, p replay.Pass, events *event.Log) (Result, error) {
	if p.Negatives == nil {
		return Result{}, fmt.Errorf("evaluation without negatives: there is nothing to tell the %d positives from", events.Len())
	}
	p.Negatives.Reset()
	_, ranks := s.(replay.Ranker)
	t := tally{logits: !ranks, hash: sha256.New(), total: events.Len()}
	for step, err := range p.Batches(ctx, s, events.All()) {
		if err == nil {
			err = t.add(s, step)
		}
		if err != nil {
			return Result{}, fmt.Errorf("evaluate: %w", err)
		}
	}
	return t.result(), nil
}

// tally adds up batches.
type tally struct {
	logits   bool
	total    int // positives to come
	hash     hash.Hash
	line     []byte
	meter    Meter
	scores   []float32
	pos, neg []float32 // of all batches
	ap, auc  float64   // sums over batches
	loss     float64
	ranking  *Ranking
	batches  int
}

// add asks about one batch.
func (t *tally) add(s replay.Scorer, step *replay.Step) error {
	b := step.Batch
	n := step.Span.Len()
	if cap(t.scores) < len(b.Queries) {
		t.scores = make([]float32, len(b.Queries))
	}
	scores := t.scores[:len(b.Queries)]
	if err := s.Score(b, scores); err != nil {
		return fmt.Errorf("score batch %d: %w", step.Number, err)
	}
	for i, x := range scores {
		if x != x {
			q := b.Queries[i]
			return fmt.Errorf("score batch %d: query %d (%d, %d at %v) got NaN, must be a number", step.Number, i, q.Src, q.Dst, q.Time)
		}
	}
	if t.logits {
		t.loss += probabilities(scores, n)
	}
	pos, neg := scores[:n], scores[n:]
	ap, auc := t.meter.Score(pos, neg)
	t.ap, t.auc = t.ap+ap, t.auc+auc
	t.pos, t.neg = append(t.pos, pos...), append(t.neg, neg...)
	t.batches++
	if len(neg) > n {
		t.rank(pos, neg)
	}
	for round := n; round < len(b.Queries); round += n {
		t.line = appendNegatives(t.line[:0], b.Queries[round:round+n])
		t.hash.Write(t.line)
	}
	return nil
}

// rank counts the place of each positive among its negatives, which stand n apart.
func (t *tally) rank(pos, neg []float32) {
	if t.ranking == nil {
		t.ranking = new(Ranking)
	}
	own := make([]float32, 0, len(neg)/len(pos))
	for i, p := range pos {
		own = own[:0]
		for j := i; j < len(neg); j += len(pos) {
			own = append(own, neg[j])
		}
		t.ranking.add(Rank(p, own), t.total)
	}
}

func (t *tally) result() Result {
	r := Result{Batches: t.batches, Positives: len(t.pos), Ranking: t.ranking, Negatives: hex.EncodeToString(t.hash.Sum(nil))}
	if t.batches == 0 {
		return r
	}
	n := float64(t.batches)
	r.AP, r.AUC = t.ap/n, t.auc/n
	r.GlobalAP, r.GlobalAUC = t.meter.Score(t.pos, t.neg)
	if t.logits {
		loss := t.loss / n
		r.Loss = &loss
	}
	return r
}

// probabilities replaces logits, of which the first n are positives', and returns their mean loss.
func probabilities(scores []float32, n int) float64 {
	sum := 0.0
	for i, x := range scores {
		scores[i] = Sigmoid(x)
		sum += Loss(scores[i], i < n)
	}
	return sum / float64(len(scores))
}

func appendNegatives(line []byte, qs []sample.Query) []byte {
	for i, q := range qs {
		if i > 0 {
			line = append(line, ';')
		}
		line = strconv.AppendInt(line, int64(q.Src), 10)
		line = append(line, ',')
		line = strconv.AppendInt(line, int64(q.Dst), 10)
	}
	return append(line, '\n')
}
