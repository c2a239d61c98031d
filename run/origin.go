package run

import (
	"path/filepath"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/protocol"
)

// Keys of a checkpoint's metadata that say what it was trained on. Checkpoints of earlier versions have DataKey alone.
const (
	DataKey      = "data"         // name of the data set
	DataHashKey  = "data_sha256"  // Hashes.Data
	SplitHashKey = "split_sha256" // Hashes.Split
	SamplingKey  = "sampling"     // Config.Sampling
)

// Origin is what a checkpoint was trained on, and how its training drew from that. Fields that nobody knows are empty.
type Origin struct {
	Data                string // name of the data set
	DataHash, SplitHash string
	Sampling            protocol.Sampling
}

// OriginOf asks the run beside a checkpoint, or else the checkpoint's own metadata. A run of another model is not
// asked.
func OriginOf(path string, f checkpoint.File) Origin {
	r, err := Open(filepath.Dir(path))
	if err == nil && r.Config.Model == f.Meta["model"] {
		c := r.Config
		return Origin{c.Data, c.Hashes.Data, c.Hashes.Split, c.Sampling}
	}
	return Origin{f.Meta[DataKey], f.Meta[DataHashKey], f.Meta[SplitHashKey], protocol.Sampling(f.Meta[SamplingKey])}
}
