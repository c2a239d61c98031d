package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// bom is a software bill of materials in the form of CycloneDX 1.5 (cyclonedx.org).
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
	Depends    []depends   `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type depends struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// describe makes the SBOM of a program from what the Go command wrote into it: the modules that it contains.
func describe(program, version, commit string, at time.Time) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	main := library(info.Main.Path, version, "")
	main.Type = "application"
	main.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(content))}}
	main.Properties = []property{{"commit", commit}}
	out, err := json.MarshalIndent(materials(main, info, at), "", "  ")
	return append(out, '\n'), err
}

// materials lists the modules of a build, and the standard library.
func materials(main component, info *debug.BuildInfo, at time.Time) bom {
	b := bom{Format: "CycloneDX", Spec: "1.5", Version: 1,
		Metadata: metadata{at.Format(time.RFC3339), main}}
	add := func(c component) { b.Components = append(b.Components, c) }
	add(library("std", strings.TrimPrefix(info.GoVersion, "go"), ""))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		add(library(m.Path, m.Version, m.Sum))
	}
	all := depends{Ref: main.Ref}
	for _, c := range b.Components {
		all.On = append(all.On, c.Ref)
	}
	b.Depends = []depends{all}
	return b
}

// library is a Go module; sum is its line in go.sum, if it has one.
func library(path, version, sum string) component {
	purl := "pkg:golang/" + path + "@" + version
	c := component{Ref: purl, Type: "library", Name: path, Version: version, PURL: purl}
	if sum != "" {
		c.Properties = []property{{"go.sum", sum}}
	}
	return c
}
