package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dygmamba/dygmamba/checkpoint"
	"github.com/dygmamba/dygmamba/internal/torchtest"
)

// torchFile is the small run's weights as PyTorch would have saved them.
func torchFile(t *testing.T, r smallRun, legacy bool) string {
	t.Helper()
	f, err := checkpoint.Load(filepath.Join(r.run, "checkpoint.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	w := &torchtest.File{Legacy: legacy}
	w.Dict(func() {
		for _, x := range f.Tensors {
			w.Text(strings.TrimPrefix(x.Name, "param/"))
			w.Float(x.Shape, x.Data...)
		}
	})
	return torchBytes(t, w)
}

func torchBytes(t *testing.T, w *torchtest.File) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "DyGMamba_seed0.pkl")
	if err := os.WriteFile(path, w.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Weights that went through PyTorch's format give the same answers: converted, converted with their configuration, or
// read as they are.
func TestConvert(t *testing.T) {
	r := trainedRun(t)
	ask := []string{"--data", r.data, "--device", "cpu",
		"--queries", queryFile(t, "u,i,ts", "u1,v2,200", "u3,v3,500", "u9,v9,900")}
	want := program(t, append([]string{"predict", "--run", r.run}, ask...)...).want(t, exitDone).out
	tell := []string{"--model", "dygmamba", "--set", "max_input_sequence_length=12", "--set", "max_interaction_times=4",
		"--set", "exact_times=true"}
	for _, legacy := range []bool{false, true} {
		from := torchFile(t, r, legacy)
		out := filepath.Join(t.TempDir(), "weights.safetensors")
		doc := decode[convertDoc](t, program(t, "convert", from, "--out", out, "--json").want(t, exitDone))
		if doc.Tensors < 30 || doc.Parameters < 1000 || doc.Out != out {
			t.Errorf("got %+v", doc)
		}
		f, err := checkpoint.Load(out)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := f.Find("0.time_encoder.w.weight"); !ok {
			t.Error("tensor names are not kept")
		}
		told := filepath.Join(t.TempDir(), "told.safetensors")
		program(t, append([]string{"convert", from, "--out", told}, tell...)...).want(t, exitDone).
			shows(t, "wrote", "dygmamba")
		for _, args := range [][]string{append([]string{"--checkpoint", out}, tell...), {"--checkpoint", told},
			append([]string{"--checkpoint", from}, tell...)} {
			got := program(t, append(append([]string{"predict"}, args...), ask...)...).want(t, exitDone).out
			if got != want {
				t.Errorf("%v answers\n%s, want\n%s", args, got, want)
			}
		}
		program(t, append([]string{"predict", "--checkpoint", out}, ask...)...).
			want(t, exitUsage, "name it with --model")
		program(t, append([]string{"predict", "--checkpoint", out, "--set", "patch_size=1"},
			append(tell, ask...)...)...).want(t, exitBadInput, "does not fit")
	}
}

// A trained model becomes a state dict, which gives the same answers when it is read back.
func TestConvertToPyTorch(t *testing.T) {
	r, dir := trainedRun(t), t.TempDir()
	out := filepath.Join(dir, "model.pth")
	doc := decode[convertDoc](t, program(t, "convert", r.run, "--out", out, "--json").want(t, exitDone))
	if doc.Format != asPyTorch || doc.Out != out || doc.Tensors < 30 ||
		doc.From != filepath.Join(r.run, "checkpoint.safetensors") {
		t.Errorf("got %+v", doc)
	}
	f, err := checkpoint.LoadPyTorch(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.Find("0.time_encoder.w.weight"); !ok || len(f.Tensors) != doc.Tensors {
		t.Errorf("%d tensors, the time encoder among them: %v", len(f.Tensors), ok)
	}
	ask := []string{"--data", r.data, "--device", "cpu", "--queries", queryFile(t, "u,i,ts", "u1,v2,200", "u3,v3,500")}
	tell := []string{"--model", "dygmamba", "--set", "max_input_sequence_length=12", "--set",
		"max_interaction_times=4", "--set", "exact_times=true"}
	want := program(t, append([]string{"predict", "--run", r.run}, ask...)...).want(t, exitDone).out
	got := program(t, append(append([]string{"predict", "--checkpoint", out}, tell...), ask...)...).want(t,
		exitDone).out
	if got != want {
		t.Errorf("answers\n%s, want\n%s", got, want)
	}
	// There and back, and from one form of PyTorch's to the other.
	plain, again := filepath.Join(dir, "plain.safetensors"), filepath.Join(dir, "again.bin")
	program(t, "convert", out, "--out", plain).want(t, exitDone)
	program(t, "convert", plain, "--out", again).want(t, exitDone)
	if string(content(t, again)) != string(content(t, out)) {
		t.Error("there and back gave other bytes")
	}
	program(t, "convert", torchFile(t, r, true), "--out", again).want(t, exitDone)
	if string(content(t, again)) != string(content(t, out)) {
		t.Error("the older form of PyTorch gave other bytes")
	}
	named := filepath.Join(dir, "copy.safetensors")
	if err := os.WriteFile(named, content(t, doc.From), 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, "convert", named).want(t, exitDone).shows(t, "copy.pth")
	program(t, "convert", named, "--out", again, "--model", "dygmamba").want(t, exitUsage, "cannot hold")
	program(t, "convert", filepath.Dir(r.run), "--out", filepath.Join(dir, "no", "x.pth")).want(t, exitUsage,
		"there is no directory")
	if err := os.WriteFile(named, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	program(t, "convert", named).want(t, exitBadInput, "too few for a safetensors file",
		"want a zip archive or a pickle")
}

func TestConvertRefuses(t *testing.T) {
	r := trainedRun(t)
	good := torchFile(t, r, false)
	bad := &torchtest.File{}
	bad.Op("\x80\x02cos\nsystem\n(")
	bad.Text("touch hacked")
	bad.Op("tR.")
	mixed := &torchtest.File{}
	mixed.Dict(func() {
		mixed.Text("0.w")
		mixed.Float([]int{1}, 1)
		mixed.Text("epoch")
		mixed.Op(12)
	})
	dir := t.TempDir()
	out := filepath.Join(dir, "out.safetensors")
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{torchBytes(t, bad)}, exitBadInput, `asks for Python code: "os.system", which is not run`},
		{[]string{torchBytes(t, mixed)}, exitBadInput, `entry "epoch" is the number 12, not a tensor`},
		{[]string{r.data}, exitBadInput, "want a zip archive or a pickle"},
		{[]string{filepath.Join(dir, "none.pkl")}, exitBadInput, "none.pkl"},
		{[]string{good, "--model", "dygmama"}, exitUsage, "did you mean dygmamba?"},
		{[]string{good, "--model", "dygmamba-a"}, exitBadInput, "does not fit"},
		{[]string{good, "--set", "patch_size=2"}, exitUsage, "--preset and --set need --model"},
		{nil, exitUsage, "needs a file that PyTorch wrote"},
	}
	for _, tt := range tests {
		program(t, append([]string{"convert", "--out", out}, tt.args...)...).want(t, tt.code, tt.want)
	}
	program(t, "convert", good, "--out", good).want(t, exitUsage, "is the file to read")
	program(t, "convert", good, "--out", filepath.Join(dir, "no", "x.safetensors")).
		want(t, exitUsage, "there is no directory")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("refused files left %v, %v", left, err)
	}
	program(t, "convert", good).want(t, exitDone).shows(t, "DyGMamba_seed0.safetensors")
}
