package train_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device"
	"github.com/dygmamba/dygmamba/run"
)

// rounding stands for a device that rounds what it multiplies.
type rounding struct{ device.Device }

func (rounding) Rounds() bool { return true }
func (rounding) Round(bool)   {}

// What changes results is recorded, and a resumed run must not change it.
func TestRoundingIsRecorded(t *testing.T) {
	exact, rounded := t.TempDir(), t.TempDir()
	for _, dir := range []string{exact, rounded} {
		job := small(t, dir, "num_epochs=1")
		if dir == rounded {
			job.Device = rounding{job.Device}
		}
		if _, err := job.Train(t.Context()); err != nil {
			t.Fatal(err)
		}
		var c run.Config
		if err := json.Unmarshal(read(t, dir, run.ConfigFile), &c); err != nil {
			t.Fatal(err)
		}
		if c.TF32 != (dir == rounded) {
			t.Errorf("the configuration says tf32 is %v", c.TF32)
		}
	}
	other := small(t, rounded, "num_epochs=1")
	other.Resume = true
	_, err := other.Train(t.Context())
	if err == nil || !strings.Contains(err.Error(), "tf32 was true and is now false") {
		t.Errorf("resumed without rounding: %v", err)
	}
}
