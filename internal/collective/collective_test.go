package collective_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/internal/collective"
	"github.com/dygmamba/dygmamba/internal/collectivetest"
)

// rankVariable makes this test binary one rank of a group: any value does.
const rankVariable = "DYGMAMBA_TEST_RANK"

func TestMain(m *testing.M) {
	if os.Getenv(rankVariable) != "" {
		if err := rank(); err != nil {
			fmt.Fprintln(os.Stderr, "rank:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// rank is what a process does that a launcher of this test started.
func rank() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := collective.Discover(os.Getenv)
	if err != nil || l == nil {
		return fmt.Errorf("no launcher was found: %v", err)
	}
	g, err := l.Join(ctx, os.Getenv)
	if err != nil {
		return err
	}
	if ctx, err = g.Watched(ctx); err != nil {
		return err
	}
	if err := collectivetest.Conform(ctx, g); err != nil {
		g.Abort(err)
		return err
	}
	if g.Rank() == 0 {
		fmt.Printf("%s, %d ranks: all is well\n", g.Engine().Name(), g.Size())
	}
	return g.Close()
}

func TestLocal(t *testing.T) {
	for _, size := range []int{1, 2, 3, 8} {
		together(t, size, collectivetest.Conform)
	}
}

// together runs f on all ranks of a group within this process.
func together(t *testing.T, size int, f func(context.Context, *collective.Group) error) {
	t.Helper()
	errs := make([]error, size)
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, e := range collective.Local(size) {
		all.Go(func() {
			g, err := collective.New(ctx, e)
			if err == nil {
				err = f(ctx, g)
			}
			if errs[i] = err; err != nil {
				cancel()
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// launchers are the programs that start ranks, and how they are told to start more than there are cores.
var launchers = []struct {
	program, library string
	options          []string
}{
	{"mpirun.openmpi", "Open MPI", []string{"--allow-run-as-root", "--oversubscribe"}},
	{"mpirun.mpich", "MPICH", nil},
}

func TestMPI(t *testing.T) {
	for _, l := range launchers {
		for _, n := range []int{1, 2, 3} {
			t.Run(fmt.Sprintf("%s %d", l.library, n), func(t *testing.T) {
				out := launch(t, l.program, append(slices.Clip(l.options), "-n", fmt.Sprint(n)))
				if want := fmt.Sprintf("%s, %d ranks: all is well", l.library, n); !strings.Contains(out, want) {
					t.Errorf("want %q, got:\n%s", want, out)
				}
			})
		}
	}
}

// TestNCCL needs a GPU. With one rank nothing leaves it.
func TestNCCL(t *testing.T) {
	n, err := collective.OpenNCCL(t.Context(), &collective.Launch{By: collective.Torchrun, Size: 1})
	if err != nil {
		t.Skip(err)
	}
	g, err := collective.New(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	if err := collectivetest.Conform(t.Context(), g); err != nil {
		t.Error(err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// launch starts this test binary as ranks.
func launch(t *testing.T, program string, options []string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("there is no %s", program)
	}
	cmd := exec.CommandContext(t.Context(), path, append(options, os.Args[0])...)
	cmd.Env = append(os.Environ(), rankVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return string(out)
}

// TestWatch ends a rank without a word, in a group whose engine would wait for ever.
func TestWatch(t *testing.T) {
	gone := make(chan struct{})
	together(t, 3, func(ctx context.Context, g *collective.Group) error {
		watched, err := g.Watched(ctx)
		if err != nil {
			return err
		}
		if g.Rank() == 2 {
			close(gone)
			g.Abort(errors.New("the disk is full"))
			return nil
		}
		<-gone
		began := time.Now()
		for err == nil {
			err = g.Barrier(watched)
		}
		var lost *collective.LostError
		if !errors.As(err, &lost) || lost.Rank != 2 || !strings.Contains(err.Error(), "the disk is full") {
			return fmt.Errorf("rank %d: %v, want what rank 2 said", g.Rank(), err)
		}
		if took := time.Since(began); took > 10*time.Second {
			return fmt.Errorf("rank %d noticed after %v", g.Rank(), took)
		}
		return nil
	})
}

func TestDiscover(t *testing.T) {
	torch := map[string]string{"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1",
		"MASTER_ADDR": "a", "MASTER_PORT": "9"}
	slurm := map[string]string{"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "0"}
	ompi := map[string]string{"OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_SIZE": "8",
		"OMPI_COMM_WORLD_LOCAL_RANK": "2"}
	pmi := map[string]string{"PMI_RANK": "2", "PMI_SIZE": "3"}
	for _, c := range []struct {
		name string
		env  []map[string]string
		want *collective.Launch
	}{
		{"alone", nil, nil},
		{"a batch script of Slurm", []map[string]string{{"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}}, nil},
		{"RANK of something else", []map[string]string{{"RANK": "3"}}, nil},
		{"torchrun first", []map[string]string{pmi, ompi, slurm, torch},
			&collective.Launch{By: "torchrun", Rank: 3, Size: 4, Local: 1, Master: "a:9"}},
		{"then Slurm", []map[string]string{pmi, ompi, slurm}, &collective.Launch{By: "srun", Rank: 1, Size: 2}},
		{"then Open MPI", []map[string]string{pmi, ompi},
			&collective.Launch{By: "Open MPI", Rank: 5, Size: 8, Local: 2}},
		{"then PMI", []map[string]string{pmi, {"PMIX_RANK": "1"}},
			&collective.Launch{By: "MPICH", Rank: 2, Size: 3, Local: -1}},
		{"PMIx alone", []map[string]string{{"PMIX_RANK": "1"}}, &collective.Launch{By: "Open MPI", Rank: 1, Local: -1}},
	} {
		env := map[string]string{}
		for _, part := range c.env {
			for k, v := range part {
				env[k] = v
			}
		}
		got, err := collective.Discover(func(name string) string { return env[name] })
		if err != nil || (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
	for _, bad := range []string{"x", "-1", "4"} {
		torch["RANK"] = bad
		if l, err := collective.Discover(func(name string) string { return torch[name] }); err == nil {
			t.Errorf("rank %q of 4 was taken: %+v", bad, l)
		}
	}
}
