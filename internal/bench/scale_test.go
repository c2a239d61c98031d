package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test program be the program that is measured: it fails at info and never ends at eval.
func TestMain(m *testing.M) {
	if os.Getenv("DYGMAMBA_SCALE_TEST") == "" {
		os.Exit(m.Run())
	}
	switch strings.Join(os.Args[1:3], " ") {
	case "data info":
		fmt.Fprintln(os.Stderr, "error: no such thing")
		os.Exit(1)
	case "eval --model":
		time.Sleep(time.Minute)
	case "bench scale":
		fmt.Println(FirstStep)
	}
	os.Exit(0)
}

func TestScale(t *testing.T) {
	t.Setenv("DYGMAMBA_SCALE_TEST", "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var began []string
	s := Scale{Program: program, Sizes: []int{100, 400}, Limit: 4 * time.Second, Dir: t.TempDir()}
	s.Rules, s.Models, s.MaxTime = []string{"rule"}, []string{"m"}, time.Second
	s.OnBegin = func(what string, events int) { began = append(began, what) }
	r, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 15 || len(began) != 19 {
		t.Fatalf("%d rows of %v", len(r.Rows), began)
	}
	for _, row := range r.Rows {
		want := map[string]string{"info": "data info: exit status 1: error: no such thing",
			"eval rule": "stopped after 4s"}
		if row.What == "train m --max-time 1s" { // which leaves nothing behind here
			if row.Events != 400 || !strings.HasPrefix(row.Problem, "the training has no result: ") {
				t.Errorf("%+v", row)
			}
			continue
		}
		if row.Problem != want[row.What] {
			t.Errorf("%s: problem %q, want %q", row.What, row.Problem, want[row.What])
		}
		if row.Seconds <= 0 || row.Problem == "" && row.Seconds > 4 {
			t.Errorf("%s took %v s", row.What, row.Seconds)
		}
		if _, grew := r.Grew(row); grew != (row.Events == 400 && row.Problem == "") {
			t.Errorf("%s of %d events has a growth: %v", row.What, row.Events, grew)
		}
	}
	if left, _ := os.ReadDir(s.Dir); len(left) > 0 {
		t.Errorf("%d streams are left", len(left))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Run(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
}
