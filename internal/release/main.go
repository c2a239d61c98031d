// Command release answers: what do users download?
//
// It builds the program for each target and writes to a directory one archive per target, a software bill of materials
// (SBOM) for each, and SHA256SUMS. The same commit and the same Go version give the same bytes, on any machine and in
// any directory. Run it in the root of the repository:
//
//	go run ./internal/release
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// target is one archive of a release.
type target struct {
	system, arch string
	static       bool // without GPU support: needs no C library, for small images
}

var targets = []target{
	{"linux", "amd64", false}, {"linux", "arm64", false}, {"darwin", "arm64", false}, {"windows", "amd64", false},
	{"linux", "amd64", true}, {"linux", "arm64", true},
}

func (t target) String() string {
	name := t.system + "_" + t.arch
	if t.static {
		name += "_static"
	}
	return name
}

// release is what all targets share.
type release struct {
	version, commit, out string
	at                   time.Time // of every file in the archives
}

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var r release
	flag.StringVar(&r.version, "version", "", "version (default: git describe)")
	flag.StringVar(&r.commit, "commit", "", "commit (default: that of git)")
	flag.StringVar(&r.out, "out", "dist", "`directory` to write to; created if it does not exist")
	only := flag.String("targets", "", "comma-separated targets to build, such as linux_amd64 (default: all)")
	flag.Parse()
	if err := r.run(ctx, *only); err != nil {
		log.Fatal("error: ", err)
	}
}

func (r *release) run(ctx context.Context, only string) (err error) {
	if r.version == "" {
		if r.version, err = git("describe", "--tags", "--always", "--dirty"); err != nil {
			return err
		}
	}
	if r.commit == "" {
		if r.commit, err = git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"); err != nil {
			return err
		}
	}
	seconds := os.Getenv("SOURCE_DATE_EPOCH") // see reproducible-builds.org
	if seconds == "" {
		if seconds, err = git("log", "-1", "--format=%ct"); err != nil {
			return err
		}
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	r.at = time.Unix(epoch, 0).UTC()
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	var written []string
	for _, t := range targets {
		if only != "" && !slices.Contains(strings.Split(only, ","), t.String()) {
			continue
		}
		files, err := r.build(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		log.Printf("%s", filepath.Join(r.out, files[0]))
		written = append(written, files...)
	}
	if written == nil {
		return fmt.Errorf("no target %q; there are %v", only, targets)
	}
	return r.sums(written)
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// build writes the archive of a target and its SBOM, and returns their names.
func (r *release) build(ctx context.Context, t target) ([]string, error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := fmt.Sprintf("dygmamba_%s_%s", r.version, t)
	program, ending := filepath.Join(dir, "dygmamba"), ".tar.gz"
	if t.system == "windows" {
		program, ending = program+".exe", ".zip"
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", program,
		"-ldflags", fmt.Sprintf("-s -X main.commit=%s -X main.release=%s", r.commit, r.version)}
	if t.static {
		args = append(args, "-tags", "nogpu")
	}
	build := exec.CommandContext(ctx, "go", append(args, "./cmd/dygmamba")...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.system, "GOARCH="+t.arch,
		"GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return nil, err
	}
	files := []packed{{path: program, mode: 0o755}}
	for _, path := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		files = append(files, packed{path: path, mode: 0o644})
	}
	var archive bytes.Buffer
	if err := pack(&archive, ending, name, r.at, files); err != nil {
		return nil, err
	}
	bom, err := describe(program, r.version, r.commit, r.at)
	if err != nil {
		return nil, err
	}
	names := []string{name + ending, name + ".cdx.json"}
	for i, content := range [][]byte{archive.Bytes(), bom} {
		if err := os.WriteFile(filepath.Join(r.out, names[i]), content, 0o666); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// sums writes SHA256SUMS, as sha256sum(1) checks it.
func (r *release) sums(names []string) error {
	slices.Sort(names)
	var list bytes.Buffer
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), list.Bytes(), 0o666)
}
