package train

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/run"
)

// The log is read while it is written, and left as it is.
func TestHistory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, run.LogFile)
	if got, err := run.History(dir); err != nil || got != nil {
		t.Errorf("before the first epoch: %v, %v", got, err)
	}
	for text, want := range map[string]int{
		"{\"epoch\":1,\"train_loss\":0.5}\n{\"epoch\":2}\n": 2,
		"{\"epoch\":1}\n{\"epo":                             1,
		"":                                                  0,
		"{\"epoch\":2}\n":                                   -1,
		"{\"epoch\":1}\nnonsense\n":                         -1,
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := run.History(dir)
		if want < 0 {
			if err == nil || !strings.Contains(err.Error(), "is not the record of epoch") {
				t.Errorf("%q: %v, %v", text, got, err)
			}
			continue
		}
		if err != nil || len(got) != want {
			t.Errorf("%q: %d epochs, %v; want %d", text, len(got), err, want)
		}
		if raw, err := os.ReadFile(file); err != nil || string(raw) != text {
			t.Errorf("the log is now %q, %v", raw, err)
		}
	}
	if _, err := run.ReadResult(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run without a result gives %v", err)
	}
}
