package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/dygmamba/dygmamba/device/open"
	"github.com/dygmamba/dygmamba/internal/term"
)

type versionDoc struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // built from a tree with changes not committed
	Time     string `json:"time,omitempty"`     // of the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CPUs     int    `json:"cpus"`

	Devices []deviceDoc `json:"devices"`
}

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
				if doc.Revision != "" {
					f.Add("revision", doc.described())
				}
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
	doc := versionDoc{
		Version:  "unknown",
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs:     runtime.NumCPU(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return doc
	}
	doc.Version = info.Main.Version
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
	return doc
}

// devices tries all of them.
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

func (d versionDoc) described() string {
	text := d.Revision
	if d.Time != "" {
		text += " of " + d.Time
	}
	if d.Modified {
		text += ", with changes not committed"
	}
	return text
}
