package open

import (
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/device"
)

// Without a usable GPU, auto is the CPU, and one line says why.
func TestAuto(t *testing.T) {
	dev, why, err := Device("auto", Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if strings.HasPrefix(dev.Name(), "cuda") {
		t.Skip("there is a GPU")
	}
	if why == "" || strings.Contains(why, "\n") || strings.Contains(why, device.ErrUnavailable.Error()) {
		t.Errorf("%s was taken for the reason %q", dev.Name(), why)
	}
}

func TestUnknown(t *testing.T) {
	if _, _, err := Device("tpu", Options{}); err == nil || !strings.Contains(err.Error(), `"tpu"`) {
		t.Errorf("got %v", err)
	}
}
