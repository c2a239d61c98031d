package train

import (
	"github.com/dygmamba/dygmamba/model"
	"github.com/dygmamba/dygmamba/protocol"
	"github.com/dygmamba/dygmamba/run"
)

// Stopper decides which epoch is the best and when to give up.
type Stopper struct {
	Patience int `json:"patience"`
	// judge by AP alone; otherwise, as in the reference, AP and AUC must both be at least as good as the best epoch's
	ByAP   bool      `json:"by_ap"`
	ByAUC  bool      `json:"by_auc,omitempty"`  // judge by AUC alone, as for labels
	ByBits bool      `json:"by_bits,omitempty"` // judge by bits per event, of which few are good
	ByRMSE bool      `json:"by_rmse,omitempty"` // judge by the error of values, of which little is good
	Latest bool      `json:"latest,omitempty"`  // the last epoch is the best: another run chose how many there are
	Best   run.Score `json:"best"`
	Epoch  int       `json:"best_epoch"` // of Best; 0 before the first
	Waited int       `json:"waited"`     // epochs since
}

// NewStopper judges links, by AP alone if that is asked for or if it is a mean over kinds of negatives; labels, by AUC;
// choices, by bits per event; or values, by RMSE.
func NewStopper(t model.Training, byAP bool, task protocol.Task) Stopper {
	mean, links := len(protocol.Selecting(t.SelectBy)) > 1, task == "" || task == protocol.LinkPrediction
	return Stopper{Patience: t.Patience, ByAP: (byAP || mean) && links, ByAUC: task == protocol.NodeClassification,
		ByBits: task == protocol.Next, ByRMSE: task == protocol.Regression}
}

// Measure names what epochs are judged by.
func (s *Stopper) Measure(t model.Training) string {
	switch {
	case s.Latest:
		return ""
	case s.ByAUC:
		return "AUC"
	case s.ByBits:
		return run.BitsMeasure
	case s.ByRMSE:
		return run.ErrorMeasure
	case t.SelectBy == protocol.All:
		return "mean AP of all kinds of negatives"
	case len(protocol.Selecting(t.SelectBy)) > 1:
		return "mean AP of random and " + t.SelectBy + " negatives"
	case s.ByAP:
		return "AP"
	}
	return "AP and AUC"
}

// Improved takes an epoch's score and reports whether it is the best so far; an equal one counts as better.
func (s *Stopper) Improved(epoch int, now run.Score) bool {
	better := (s.ByAUC || now.AP >= s.Best.AP) && (s.ByAP || now.AUC >= s.Best.AUC)
	if s.ByBits {
		better = now.Bits <= s.Best.Bits
	}
	if s.ByRMSE {
		better = now.RMSE <= s.Best.RMSE
	}
	if s.Epoch == 0 || better || s.Latest {
		s.Best, s.Epoch, s.Waited = now, epoch, 0
		return true
	}
	s.Waited++
	return false
}

// Done reports whether patience has run out.
func (s *Stopper) Done() bool { return s.Waited >= s.Patience }
