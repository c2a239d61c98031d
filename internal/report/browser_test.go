package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
)

// browser finds one, or skips.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no browser here")
	return ""
}

// look is what a browser sees of a page that is shown in a frame this many pixels wide.
type look struct {
	Errors []string
	Values []string // of data elements
	Texts  []string // of the same, as people read them
	Wide   int      // of the whole content
	Paper  string   // colour behind it
	Ink    string
	Charts int // drawings that have a size
	Large  bool
}

// show opens the page in a frame, which says what became of it.
func show(t *testing.T, path, page string, width int, dark bool) (l look) {
	t.Helper()
	const script = `
const seen = {errors: []};
addEventListener("error", e => seen.errors.push(String(e.message)));
const frame = document.querySelector("iframe");
frame.onload = () => {
  const doc = frame.contentDocument, style = frame.contentWindow.getComputedStyle(doc.body);
  const data = [...doc.querySelectorAll("data")];
  const drawn = [...doc.querySelectorAll("svg")].filter(s => s.getBoundingClientRect().height > 20);
  seen.values = data.map(d => d.value); seen.texts = data.map(d => d.textContent);
  seen.wide = doc.documentElement.scrollWidth; seen.charts = drawn.length;
  seen.paper = style.backgroundColor; seen.ink = style.color;
  seen.large = drawn.some(s => s.classList.contains("large"));
  document.querySelector("pre").textContent = JSON.stringify(seen);
};
frame.srcdoc = document.querySelector("textarea").value;`
	file := filepath.Join(t.TempDir(), "frame.html")
	outer := fmt.Sprintf("<!doctype html><meta charset=utf-8><pre></pre><textarea>%s</textarea><iframe "+
		"style='width:%dpx;height:800px;border:0'></iframe><script>%s</script>",
		html.EscapeString(page), width, script)
	if err := os.WriteFile(file, []byte(outer), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--user-data-dir=" +
		t.TempDir(), "--virtual-time-budget=5000", "--dump-dom"}
	if dark {
		args = append(args, "--blink-settings=preferredColorScheme=0")
	}
	cmd := exec.CommandContext(ctx, path, append(args, "file://"+file)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Skipf("the browser does not run here: %v\n%s", err, said.String())
	}
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the browser complains: %s", line)
		}
	}
	found := regexp.MustCompile(`(?s)<pre>(.*?)</pre>`).FindStringSubmatch(out.String())
	if found == nil || json.Unmarshal([]byte(html.UnescapeString(found[1])), &l) != nil {
		t.Fatalf("the page was not shown:\n%.500s", out.String())
	}
	return l
}

// A browser shows the numbers of the run, in light and dark, on a large screen and on a telephone, without a
// complaint.
func TestInBrowser(t *testing.T) {
	path := browser(t)
	if testing.Short() {
		t.Skip("starts a browser")
	}
	r, result := trained(t, dygmamba.DefaultModel, dygmamba.TrainOptions{}, 2)
	var page bytes.Buffer
	if err := r.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	var looks []look
	for _, c := range []struct {
		width int
		dark  bool
	}{{1000, false}, {1000, true}, {360, false}} {
		l := show(t, path, page.String(), c.width, c.dark)
		if len(l.Errors) > 0 || l.Wide > c.width || l.Charts < 8 || l.Large != (c.width > 640) {
			t.Errorf("%d wide: errors %q, content %d wide, %d drawings, large ones %v", c.width, l.Errors, l.Wide,
				l.Charts, l.Large)
		}
		m := result.Results[0]
		if len(l.Values) < 4 || l.Values[0] != exact(m.AP) || l.Values[1] != exact(m.AUC) ||
			l.Texts[0] != percent(m.AP) || l.Texts[1] != percent(m.AUC) {
			t.Errorf("shows %q (%q), the run has AP %v and AUC %v", l.Values, l.Texts, m.AP, m.AUC)
		}
		looks = append(looks, l)
	}
	if looks[0].Paper == looks[1].Paper || looks[0].Ink == looks[1].Ink {
		t.Errorf("light is %s on %s, dark %s on %s", looks[0].Ink, looks[0].Paper, looks[1].Ink, looks[1].Paper)
	}
}
