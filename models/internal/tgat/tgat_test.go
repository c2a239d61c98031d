package tgat

import (
	"testing"

	"github.com/dygmamba/dygmamba/model/modeltest"
)

// small are the sizes of the golden model.
var small = []string{"time_feat_dim=6", "num_neighbors=3", "node_feat_dim=8", "edge_feat_dim=8", "dropout=0"}

func TestGoldenForward(t *testing.T)  { modeltest.Forward(t, Factory, "TGAT", small...) }
func TestGoldenLearning(t *testing.T) { modeltest.Learning(t, Factory, "TGAT", small...) }

func TestSlopes(t *testing.T) { modeltest.Slopes(t, Factory, nil, small...) }

func TestSteps(t *testing.T) { modeltest.Steps(t, Factory, "num_neighbors=5") }

func TestStartsLikePyTorch(t *testing.T) { modeltest.StartsLikePyTorch(t, Factory, "tgat") }

func TestQueriesStandAlone(t *testing.T) { modeltest.QueriesStandAlone(t, Factory, "num_neighbors=5") }

func TestFreezeTime(t *testing.T) {
	modeltest.Slopes(t, Factory, []string{"0.time_encoder."}, append(small, "freeze_time_encoder=true")...)
}
