package study

import (
	"bytes"
	"context"
	"html"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/run"
)

// A browser shows the page without a complaint, and its tables hold the numbers of the JSON.
func TestInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil && browser == "" {
			browser = path
		}
	}
	if browser == "" {
		t.Skip("no browser here")
	}
	o := options(t, smallData(t, "uci", "enron"))
	o.Names, o.Datasets, o.Seeds, o.Epochs = []string{"all"}, []string{"uci", "s1"}, 1, 2
	o.Models = []string{"jodie", "dyrep", "edgebank"}
	report, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	out, complaints := dump(t, browser, filepath.Join(o.Out, PageFile))
	if complaints != "" {
		t.Errorf("the browser complains: %s", complaints)
	}
	var shown [][2]string
	for _, m := range regexp.MustCompile(`<data value="([^"]*)">([^<]*)</data>`).FindAllStringSubmatch(out, -1) {
		shown = append(shown, [2]string{m[1], html.UnescapeString(m[2])})
	}
	var want [][2]string
	figures := 0
	for _, s := range report.Exhibits {
		figures += len(s.Figures)
		for _, table := range s.Tables {
			for _, row := range table.Rows {
				for _, c := range row {
					if c.Value != nil {
						want = append(want, [2]string{strconv.FormatFloat(*c.Value, 'g', -1, 64), c.shown()})
					}
				}
			}
		}
	}
	if len(want) < 30 || figures < 2 {
		t.Errorf("%d numbers and %d figures are few", len(want), figures)
	}
	if !slices.Equal(shown, want) {
		t.Errorf("the page shows %d numbers, the report has %d\n%.400q\n%.400q", len(shown), len(want), shown, want)
	}
	if n := strings.Count(out, "<svg"); n < figures {
		t.Errorf("%d drawings for %d figures", n, figures)
	}
	for _, m := range regexp.MustCompile(`href="([^"#]+)"`).FindAllStringSubmatch(out, -1) {
		if path := filepath.Join(o.Out, filepath.FromSlash(strings.ReplaceAll(m[1], "%3D", "="))); !run.Exists(path) {
			t.Errorf("a link leads to %s, which is not there", m[1])
		}
	}
}

// dump opens a page and says what became of it.
func dump(t *testing.T, browser, page string) (dom, complaints string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=2000", "--dump-dom", "file://"+page)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Skipf("the browser does not run here: %v\n%s", err, said.String())
	}
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, "CONSOLE") {
			complaints += line
		}
	}
	return out.String(), complaints
}
