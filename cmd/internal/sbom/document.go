package main

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
)

type program struct {
	name string
	info *debug.BuildInfo
}

// document is CycloneDX 1.6: https://cyclonedx.org/docs/1.6/json/.
type document struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"` // of the commit
	Component component `json:"component"`
}

type component struct {
	Type       string      `json:"type"` // application, library
	Ref        string      `json:"bom-ref"`
	Name       string      `json:"name"`
	Version    string      `json:"version"`
	PURL       string      `json:"purl"`
	Hashes     []hash      `json:"hashes,omitempty"`
	Properties []property  `json:"properties,omitempty"`
	Components []component `json:"components,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

func documentOf(all []program) (document, error) {
	first := all[0].info
	main := component{Type: "application", Name: first.Main.Path, Version: first.Main.Version, PURL: purl(first.Main.Path, first.Main.Version)}
	main.Ref = main.PURL
	d := document{Format: "CycloneDX", Spec: "1.6", Version: 1}
	modules := map[string]component{}
	for _, p := range all {
		if p.info.Main.Path != first.Main.Path || p.info.Main.Version != first.Main.Version || p.info.GoVersion != first.GoVersion {
			return document{}, fmt.Errorf("%s is of %s %s by %s, %s of %s %s by %s: want programs of one release", all[0].name,
				first.Main.Path, first.Main.Version, first.GoVersion, p.name, p.info.Main.Path, p.info.Main.Version, p.info.GoVersion)
		}
		part := component{Type: "application", Name: p.name, Version: main.Version, PURL: main.PURL + "#" + p.name}
		part.Ref = part.PURL
		on := []string{library("std", strings.TrimPrefix(p.info.GoVersion, "go"), "", modules)}
		for _, m := range p.info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			on = append(on, library(m.Path, m.Version, m.Sum, modules))
		}
		for _, s := range p.info.Settings {
			if s.Key == "vcs.time" {
				d.Metadata.Timestamp = s.Value
			}
			part.Properties = append(part.Properties, property{"go:build:" + s.Key, s.Value})
		}
		main.Components = append(main.Components, part)
		d.Dependencies = append(d.Dependencies, dependency{part.Ref, on})
	}
	d.Metadata.Component = main
	d.Components = slices.SortedFunc(maps.Values(modules), func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	for _, c := range d.Components {
		d.Dependencies = append(d.Dependencies, dependency{c.Ref, []string{}})
	}
	return d, nil
}

// library adds a module and returns its reference. sum is the module's in go.sum: the SHA-256 over
// the names and SHA-256 of its files.
func library(path, version, sum string, into map[string]component) (ref string) {
	c := component{Type: "library", Name: path, Version: version, PURL: purl(path, version)}
	c.Ref = c.PURL
	if b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(b) > 0 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(b)}}
	}
	into[c.Ref] = c
	return c.Ref
}

// purl returns a module's package URL: https://github.com/package-url/purl-spec.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}
