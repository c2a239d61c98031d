package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dygmamba/dygmamba/checkpoint"
)

// stateDict has one of each kind: a matrix, a scalar, three dimensions, nothing at all, and a tensor under a second
// name.
func stateDict() checkpoint.File {
	shared := []float32{1, -2, 3.5, 1e-45, float32(math.Inf(1)), 0}
	return checkpoint.File{Tensors: []checkpoint.Tensor{
		{Name: "0.time_encoder.w.weight", Shape: []int{2, 3}, Data: shared},
		{Name: "1.b", Shape: []int{}, Data: []float32{4}},
		{Name: "0.conv1d.weight", Shape: []int{2, 1, 2}, Data: []float32{1, 2, 3, 4}},
		{Name: "0.nöne", Shape: []int{0, 5}, Data: []float32{}},
		{Name: "0.embedding_module.time_encoder.w.weight", Shape: []int{2, 3}, Data: shared},
	}}
}

func torchWritten(t *testing.T, f checkpoint.File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := checkpoint.WritePyTorch(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is written is read back, names, shapes and bits.
func TestWritePyTorch(t *testing.T) {
	raw := torchWritten(t, stateDict())
	got, err := loadTorch(t, raw)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(stateDict().Tensors, got.Tensors); d != "" {
		t.Error(d)
	}
	if !bytes.Equal(raw, torchWritten(t, stateDict())) {
		t.Error("the same tensors gave other bytes")
	}
	z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	storages := 0
	for _, e := range z.File {
		at, err := e.DataOffset()
		if err != nil || at%64 != 0 || e.Method != zip.Store || !strings.HasPrefix(e.Name, "archive/") {
			t.Errorf("entry %s begins at %d, method %d, %v", e.Name, at, e.Method, err)
		}
		if strings.HasPrefix(e.Name, "archive/data/") {
			storages++
		}
	}
	if storages != 4 {
		t.Errorf("%d storages, want 4: the shared one once", storages)
	}
}

// These are the bytes that PyTorch 1.13 read: torch.load(path, weights_only=True) gave an OrderedDict with the five
// tensors of stateDict, equal bit for bit, and load_state_dict(strict=True) took them.
func TestPyTorchReadThis(t *testing.T) {
	raw := torchWritten(t, stateDict())
	if path := os.Getenv("DYGMAMBA_WRITE_TORCH"); path != "" { // to let PyTorch read it again
		if err := os.WriteFile(path, raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const want = "b7d313b3d9f46cf1b775ccec1979bb45103ef636c81e1695b69d757dc4bdab43"
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != want {
		t.Errorf("SHA-256 %x, want %s: let PyTorch read the new form, then note it here", sum, want)
	}
}

func TestWritePyTorchRefuses(t *testing.T) {
	for name, f := range map[string]checkpoint.File{
		"no tensors":  {},
		"holds bytes": {Tensors: []checkpoint.Tensor{{Name: "x", Shape: []int{1}, Bytes: []byte{1}}}},
		"two tensors": {Tensors: []checkpoint.Tensor{{Name: "x", Shape: []int{}, Data: []float32{1}},
			{Name: "x", Shape: []int{}, Data: []float32{1}}}},
		"has shape":    {Tensors: []checkpoint.Tensor{{Name: "x", Shape: []int{2}, Data: []float32{1}}}},
		"is not UTF-8": {Tensors: []checkpoint.Tensor{{Name: "\xff", Shape: []int{1}, Data: []float32{1}}}},
	} {
		if err := checkpoint.WritePyTorch(&bytes.Buffer{}, f); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want an error with %q, got %v", name, err)
		}
	}
	if err := checkpoint.WritePyTorch(full{}, stateDict()); err == nil {
		t.Error("a full disk gave no error")
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }
