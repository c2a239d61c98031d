package jodie

import (
	"testing"

	"github.com/dygmamba/dygmamba/model/modeltest"
)

// small are the sizes of the golden model.
var small = []string{"time_feat_dim=6", "node_feat_dim=8", "edge_feat_dim=8", "dropout=0"}

func TestGoldenMemory(t *testing.T) { modeltest.Memory(t, Factory, "JODIE", small...) }

func TestSlopes(t *testing.T) { modeltest.Slopes(t, Factory, []string{"0.time_encoder."}, small...) }

func TestSteps(t *testing.T) { modeltest.Steps(t, Factory, "dropout=0.2") }

func TestStartsLikePyTorch(t *testing.T) { modeltest.StartsLikePyTorch(t, Factory, "jodie") }
