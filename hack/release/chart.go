package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// charts packages the charts with the version of the release, and the digest of the image in the operator's chart.
func (r *release) charts(ctx context.Context, s *staging, image artifact) ([]artifact, error) {
	var all []artifact
	for _, c := range []struct{ what, name string }{{chartOfCRDs, "hypershift-crds"}, {chartOfOperator, "hypershift"}} {
		a, err := r.chart(ctx, s, artifact{what: c.what, repository: "charts/" + c.name, tag: r.version}, c.name, image)
		if err != nil {
			return nil, fmt.Errorf("making chart %s: %w", c.name, err)
		}
		all = append(all, a)
	}
	return all, nil
}

// The charts in the list of artifacts.
const (
	chartOfCRDs     = "chart of the CRDs"
	chartOfOperator = "chart"
)

func (r *release) chart(ctx context.Context, s *staging, a artifact, name string, image artifact) (artifact, error) {
	tmp, err := os.MkdirTemp("", "release-chart-")
	if err != nil {
		return a, err
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(r.root, "config", "helm", name))); err != nil {
		return a, fmt.Errorf("copying the chart: %w", err)
	}
	if err := setVersion(dir, r.version); err != nil {
		return a, err
	}
	if a.what == chartOfOperator {
		if err := setImage(dir, r.registry+"/"+image.repository, image.digest); err != nil {
			return a, err
		}
	}
	if err := r.touch(dir); err != nil {
		return a, err
	}
	if _, err := r.output(ctx, r.tools["helm"], "package", dir, "--destination="+r.dist); err != nil {
		return a, err
	}
	archive := filepath.Join(r.dist, name+"-"+r.version+".tgz")
	// The manifest of the chart contains the time of this file.
	if err := r.touch(archive); err != nil {
		return a, err
	}
	if _, err := r.output(ctx, r.tools["helm"], "push", archive, "oci://"+s.host+"/charts", "--plain-http"); err != nil {
		return a, err
	}
	return a, s.resolve(ctx, &a)
}

// setVersion sets the version of a chart.
func setVersion(dir, version string) error {
	return edit(filepath.Join(dir, "Chart.yaml"), "\nversion: 0.1.0\n", "\nversion: "+version+"\n", "\nappVersion: 0.1.0\n", "\nappVersion: "+version+"\n")
}

// setImage sets the image of the chart of the operator.
func setImage(dir, image, digest string) error {
	return edit(filepath.Join(dir, "values.yaml"),
		"image:\n  repository: ghcr.io/hosted-control-planes/hypershift\n", "image:\n  repository: "+image+"\n",
		"  digest: \"\"\n  pullPolicy:", "  digest: "+digest+"\n  pullPolicy:")
}

// edit replaces text in a file. Each text must occur once.
func edit(file string, pairs ...string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(content)
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(text, pairs[i]); n != 1 {
			return fmt.Errorf("%s has %q %d times, want once", filepath.Base(file), pairs[i], n)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1) //nolint:gosec // a list of pairs
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// touch gives all files below a path the date of the commit.
func (r *release) touch(path string) error {
	return filepath.WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, r.date, r.date)
	})
}
