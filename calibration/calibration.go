// Package calibration answers: how likely is what a model said? It turns logits into probabilities that can be taken at
// their word, as far as the answers they were fitted on tell, and measures how far that is.
package calibration

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Map is a strictly increasing map of logits: linear between knots, and beyond the outermost ones with the slope of 1
// that the model itself has. It changes no order. A nil Map leaves logits as they are.
type Map struct {
	From    []float64 `json:"from"` // logits, ascending
	To      []float64 `json:"to"`   // what they become, ascending too
	Answers int       `json:"answers"`
}

// Bounds of a fit.
const (
	fewest = 1000 // answers that a map can be fitted on
	small  = 200  // answers of a piece at least
	pieces = 20   // at most
	least  = 0.01 // slope between two knots
	far    = 60   // logits beyond are as good as this one
)

// Fit is isotonic regression, made strictly increasing: answers are cut into pieces of as many each by their logits,
// and the share that happened is made to grow from piece to piece by pooling those that do not (pool adjacent
// violators). Each piece is a knot, and those that were pooled have about the same height. It is nil if there are too
// few answers, or all of one kind.
func Fit(logits []float32, happened []bool) *Map {
	list := cut(logits, happened)
	if list == nil {
		return nil
	}
	m := &Map{Answers: len(logits)}
	for _, p := range pool(list) {
		y := math.Log((p.happened + 0.5) / (p.answers - p.happened + 0.5))
		for _, x := range p.at {
			if n := len(m.To); n > 0 {
				if x <= m.From[n-1] { // both far away
					continue
				}
				y = max(y, m.To[n-1]+least*(x-m.From[n-1]))
			}
			m.From, m.To = append(m.From, x), append(m.To, y)
		}
	}
	return m
}

// piece is a number of answers with about the same logit, or several that were pooled.
type piece struct {
	logits, answers, happened float64   // sums
	at                        []float64 // mean logits of those that were pooled
}

func (p piece) share() float64 { return p.happened / p.answers }

// cut sorts answers into pieces. Equal logits stay together.
func cut(logits []float32, happened []bool) []piece {
	order := make([]int, len(logits))
	yes := 0
	for i := range order {
		order[i] = i
		if happened[i] {
			yes++
		}
		if logits[i]-logits[i] != 0 {
			return nil // no number
		}
	}
	if len(order) < fewest || yes == 0 || yes == len(order) {
		return nil
	}
	sort.SliceStable(order, func(a, b int) bool { return logits[order[a]] < logits[order[b]] })
	var list []piece
	for i, k := range order {
		full := len(list) == 0 || list[len(list)-1].answers >= max(small, float64(len(order))/pieces)
		if full && (i == 0 || logits[k] != logits[order[i-1]]) {
			list = append(list, piece{})
		}
		p := &list[len(list)-1]
		p.logits, p.answers = p.logits+max(-far, min(far, float64(logits[k]))), p.answers+1
		if happened[k] {
			p.happened++
		}
	}
	return list
}

// pool puts neighbours together until the share that happened grows from one to the next.
func pool(list []piece) []piece {
	var out []piece
	for _, p := range list {
		p.at = []float64{p.logits / p.answers}
		for len(out) > 0 && out[len(out)-1].share() >= p.share() {
			last := out[len(out)-1]
			out = out[:len(out)-1]
			p = piece{
				p.logits + last.logits, p.answers + last.answers, p.happened + last.happened, append(last.at, p.at...),
			}
		}
		out = append(out, p)
	}
	return out
}

// Logit is what the map makes of a logit.
func (m *Map) Logit(x float64) float64 {
	if m == nil {
		return x
	}
	last := len(m.From) - 1
	switch {
	case x <= m.From[0]:
		return m.To[0] + x - m.From[0]
	case x >= m.From[last]:
		return m.To[last] + x - m.From[last]
	}
	i, _ := slices.BinarySearch(m.From, x)
	part := (x - m.From[i-1]) / (m.From[i] - m.From[i-1])
	return m.To[i-1] + part*(m.To[i]-m.To[i-1])
}

// Probability is how likely it is what a logit is about.
func (m *Map) Probability(logit float32) float64 { return 1 / (1 + math.Exp(-m.Logit(float64(logit)))) }

// String is the map as checkpoints keep it, "" for none.
func (m *Map) String() string {
	if m == nil {
		return ""
	}
	raw, _ := json.Marshal(m) // finite numbers alone
	return string(raw)
}

// Parse reads what String wrote; nil for "".
func Parse(text string) (*Map, error) {
	if text == "" {
		return nil, nil
	}
	m := new(Map)
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("calibration: %w", err)
	}
	if len(m.From) == 0 || len(m.From) != len(m.To) {
		return nil, fmt.Errorf("calibration: %d knots lead to %d, want as many, and one at least",
			len(m.From), len(m.To))
	}
	for i := range m.From {
		if i > 0 && !(m.From[i] > m.From[i-1] && m.To[i] > m.To[i-1]) {
			return nil, fmt.Errorf("calibration: knot %d goes from %v to %v, the one before from %v to %v; "+
				"want both to grow",
				i, m.From[i], m.To[i], m.From[i-1], m.To[i-1])
		}
	}
	return m, nil
}
