package train

import "math"

// sums add up the batches of an unfinished epoch. They are part of the saved state, so that a resumed epoch ends with
// the same means.
type sums struct {
	Batches int     `json:"batches"`
	Loss    float64 `json:"loss"`
	AP      float64 `json:"ap"`
	AUC     float64 `json:"auc"`
}

func (s *sums) add(loss, ap, auc float64) {
	s.Batches++
	s.Loss += loss
	s.AP += ap
	s.AUC += auc
}

func (s *sums) means() (loss, ap, auc float64) {
	n := math.Max(1, float64(s.Batches))
	return s.Loss / n, s.AP / n, s.AUC / n
}
