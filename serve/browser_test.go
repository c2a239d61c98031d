package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba"
)

// driver is a page beside the server's own that clicks through it in a frame and says what it saw.
const driver = `<!doctype html><meta charset=utf-8><pre></pre>
<iframe style="width:%dpx;height:1500px;border:0" src="/"></iframe><script>
const seen = {errors: []}, frame = document.querySelector("iframe"), pause = ms => new Promise(r => setTimeout(r, ms));
async function until(what) {
  for (let i = 0; i < 400; i++) { const x = what(); if (x) return x; await pause(25); }
  throw new Error("waited in vain for " + what);
}
frame.onload = async () => {
  try {
    const w = frame.contentWindow, d = frame.contentDocument, $ = id => d.getElementById(id);
    w.addEventListener("error", e => seen.errors.push(e.message));
    const fill = (id, v) => { $(id).value = v; };
    await until(() => $("ready").textContent === "ready");
    seen.before = $("events").textContent;
    fill("newSrc", "1"); fill("newDst", "2"); fill("newTime", "%v"); $("send").click();
    seen.told = await until(() => $("added").textContent);
    await until(() => $("events").textContent !== seen.before);
    seen.after = $("events").textContent; seen.latest = $("latest").rows[0].textContent;
    fill("src", "1"); fill("dst", "2"); $("score").click();
    seen.probability = (await until(() => $("probability"))).textContent;
    await until(() => d.querySelectorAll(".why svg").length == 2);
    seen.effects = d.querySelectorAll(".effects tbody tr").length;
    seen.met = d.querySelectorAll(".meet").length; seen.patches = d.querySelectorAll(".patch").length;
    fill("dst", ""); $("rank").click();
    await until(() => $("ranked")); seen.ranked = $("ranked").rows.length;
    $("ranked").rows[1].click();
    await until(() => d.querySelectorAll(".why svg").length == 2);
    seen.chosen = $("dst").value;
    fill("src", "nobody"); $("score").click();
    seen.refused = (await until(() => d.querySelector("#answer .note.no"))).textContent;
    fill("src", "1"); fill("dst", "2"); $("score").click();
    await until(() => d.querySelectorAll(".why svg").length == 2);
    seen.wide = d.documentElement.scrollWidth;
    seen.paper = w.getComputedStyle(d.body).backgroundColor; seen.ink = w.getComputedStyle(d.body).color;
    seen.login = getComputedStyle($("login")).display;
  } catch (e) { seen.errors.push(String(e)); }
  document.querySelector("pre").textContent = JSON.stringify(seen);
};
</script>`

type seen struct {
	Errors                                                                       []string
	Before, After, Told, Latest, Probability, Chosen, Refused, Paper, Ink, Login string
	Effects, Met, Patches, Ranked, Wide                                          int
}

// A browser tells, asks, ranks and sees reasons, in light and dark, on a large screen and on a telephone. With
// DYGMAMBA_SHOTS=DIR pictures of the page are left there.
func TestPageInBrowser(t *testing.T) {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("no browser here")
	}
	if testing.Short() {
		t.Skip("starts a browser")
	}
	w := newWorld(t, dygmamba.DefaultModel)
	s := w.server(t, func(o *Options) { o.Quality = true })
	n := w.early.Log.Len()
	for i := n; i < w.whole.Log.Len(); i++ {
		ask[receiptDoc](t, s, "POST", "/v1/events", w.body(i, i+1))
	}
	last := s.engine.now().PastView.Last()
	mux := http.NewServeMux()
	mux.Handle("/", s.Handler())
	mux.HandleFunc("/driver", func(out http.ResponseWriter, r *http.Request) {
		last++
		width := 1100
		fmt.Sscan(r.FormValue("width"), &width)
		fmt.Fprintf(out, driver, width, last)
	})
	web := httptest.NewServer(mux)
	defer web.Close()
	var looks []seen
	for _, c := range []struct {
		width int
		dark  bool
	}{{1100, true}, {360, false}} {
		l, ok := browse(t, path, fmt.Sprintf("%s/driver?width=%d", web.URL, c.width), c.dark,
			fmt.Sprintf("page-%d-%v.png", c.width, c.dark))
		if !ok {
			t.Skip("the browser does not run here")
		}
		if len(l.Errors) > 0 || l.Before == l.After || !strings.Contains(l.Told, "added as") ||
			!strings.HasPrefix(l.Latest, "12") || !strings.Contains(l.Probability, "%") ||
			l.Effects < 2 || l.Met < 1 || l.Patches < 2 || l.Ranked < 3 || l.Chosen == "" ||
			!strings.Contains(l.Refused, "whole number") || l.Wide > c.width || l.Login != "none" {
			t.Errorf("%d wide, dark %v: %+v", c.width, c.dark, l)
		}
		looks = append(looks, l)
	}
	if looks[0].Paper == looks[1].Paper || looks[0].Ink == looks[1].Ink {
		t.Errorf("light is %s on %s, dark %s on %s", looks[0].Ink, looks[0].Paper, looks[1].Ink, looks[1].Paper)
	}
}

// browse opens a page, and reads what its script left in the first pre element.
func browse(t *testing.T, path, url string, dark bool, shot string) (l seen, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + t.TempDir(),
		"--virtual-time-budget=15000", "--window-size=1150,1600"}
	if dark {
		args = append(args, "--blink-settings=preferredColorScheme=0")
	}
	if dir := os.Getenv("DYGMAMBA_SHOTS"); dir != "" {
		args = append(args, "--screenshot="+filepath.Join(dir, shot))
	}
	out, err := exec.CommandContext(ctx, path, append(args, "--dump-dom", url)...).Output()
	if err != nil {
		t.Logf("%v", err)
		return l, false
	}
	found := regexp.MustCompile(`(?s)<pre>(.*?)</pre>`).FindSubmatch(out)
	if found == nil || json.Unmarshal([]byte(html.UnescapeString(string(found[1]))), &l) != nil {
		t.Fatalf("the page was not shown:\n%.800s", out)
	}
	return l, true
}
