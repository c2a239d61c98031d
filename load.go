package dygmamba

import "github.com/dygmamba/dygmamba/predict"

// LoadOptions says what a trained model may look at and where it computes. Only Set is needed for a checkpoint that
// Train made.
type LoadOptions = predict.Options

// Predictor answers questions with a trained model: Score, Rank, Explain, Embed and more.
type Predictor = predict.Predictor

// Query asks whether Src and Dst interact at Time.
type Query = predict.Query

// Load opens a trained model. Path is a run directory that Train filled, one of its checkpoints, a safetensors file
// with the tensor names of the released program, or the PyTorch file that this one wrote. The caller closes the
// predictor, before the set and the device.
func Load(path string, o LoadOptions) (*Predictor, error) { return predict.Load(path, o) }
