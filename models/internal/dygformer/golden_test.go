package dygformer

import (
	"testing"

	"github.com/dygmamba/dygmamba/model/modeltest"
)

// toy are the settings of the golden model.
var toy = []string{
	"time_feat_dim=6", "channel_embedding_dim=4", "patch_size=2", "max_input_sequence_length=8", "node_feat_dim=8",
	"edge_feat_dim=8", "dropout=0",
}

func TestGoldenForward(t *testing.T) { modeltest.Forward(t, Factory, "DyGFormer", toy...) }

func TestGoldenLearning(t *testing.T) { modeltest.Learning(t, Factory, "DyGFormer", toy...) }
