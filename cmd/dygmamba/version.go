package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/device/open"
	"github.com/dygmamba/dygmamba/internal/term"
)

// Set by the linker for a release (-X main.release=… -X main.commit=…), whose builds do not look at the repository.
var release, commit string

type versionDoc struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // the revision, with -dirty behind it if modified
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a tree with uncommitted changes
	Time     string `json:"time,omitempty"`     // of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CPUs     int    `json:"cpus"`

	Devices []deviceDoc `json:"devices"`
}

// dirty marks a commit with changes that were not committed.
const dirty = "-dirty"

// deviceDoc tells whether a device can be used, and how it calls itself, or why not.
type deviceDoc struct {
	Device  string `json:"device"`
	Usable  bool   `json:"usable"`
	Details string `json:"details"`
}

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the usable devices",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			doc := version()
			doc.Devices = devices()
			return a.emit(doc, func(w io.Writer, s term.Style) error {
				var f term.Facts
				f.Add("version", doc.Version)
				f.Add("commit", doc.built())
				f.Add("go", doc.Go)
				f.Add("platform", doc.Platform)
				f.Add("cpus", fmt.Sprint(doc.CPUs))
				for _, d := range doc.Devices {
					f.Add(d.Device, d.Details)
				}
				return f.Write(w, s)
			})
		},
	}
}

func version() versionDoc {
	info, _ := debug.ReadBuildInfo()
	return describeBuild(info, commit)
}

// describeBuild describes a build. linked is the commit that the linker was told, used when info has none.
func describeBuild(info *debug.BuildInfo, linked string) versionDoc {
	doc := versionDoc{
		Version:  "unknown",
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs:     runtime.NumCPU(),
	}
	if info == nil {
		info = &debug.BuildInfo{}
	}
	doc.Version = cmp.Or(release, info.Main.Version, doc.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			doc.Revision = s.Value
		case "vcs.time":
			doc.Time = s.Value
		case "vcs.modified":
			doc.Modified = s.Value == "true"
		}
	}
	if doc.Revision == "" {
		doc.Revision, doc.Modified = strings.CutSuffix(linked, dirty)
	}
	if doc.Commit = doc.Revision; doc.Modified {
		doc.Commit += dirty
	}
	return doc
}

func devices() []deviceDoc {
	var docs []deviceDoc
	for _, name := range open.Names {
		if name == "auto" {
			continue
		}
		dev, _, err := open.Device(name, open.Options{Exact: true})
		if err != nil {
			docs = append(docs, deviceDoc{name, false, err.Error()})
			continue
		}
		docs = append(docs, deviceDoc{name, true, dev.Name()})
		dev.Close()
	}
	return docs
}

// built is the commit and its time, for people.
func (d versionDoc) built() string {
	switch {
	case d.Commit == "":
		return "unknown: built without version control"
	case d.Time == "":
		return d.Commit
	}
	return d.Commit + " of " + d.Time
}
