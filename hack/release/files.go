package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sums is the file with the checksums of all others. It is signed.
const sums = "SHA256SUMS"

// changes returns the section of CHANGELOG.md about this version. A pre-release gets the changes that are not released yet.
func (r *release) changes() (string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	notes, err := section(string(text), r.version)
	return absolute(notes, r.commit), err
}

// absolute replaces links to files of the repository, which lead nowhere in the page of a release.
func absolute(notes, commit string) string {
	return strings.ReplaceAll(notes, "](docs/", "]("+source+"/blob/"+commit+"/docs/")
}

func section(changelog, version string) (string, error) {
	title := version
	if strings.Contains(version, "-") {
		title = "Unreleased"
	}
	for part := range strings.SplitSeq(changelog, "\n## ") {
		heading, body, _ := strings.Cut(part, "\n")
		if heading == title || strings.HasPrefix(heading, title+" ") {
			return strings.TrimSpace(body) + "\n", nil
		}
	}
	return "", fmt.Errorf("CHANGELOG.md has no section %q", "## "+title)
}

// writeFiles writes the list of images, the release notes and the checksums, and signs the checksums.
func (r *release) writeFiles(ctx context.Context, notes string, all []artifact) error {
	var images, table strings.Builder
	for _, a := range all {
		fmt.Fprintln(&images, r.exact(a))
		fmt.Fprintf(&table, "| %s | `%s` | `%s` |\n", a.what, r.named(a), a.digest)
	}
	chart := all[slices.IndexFunc(all, func(a artifact) bool { return a.what == chartOfOperator })]
	notes = fmt.Sprintf(`# hypershift %[1]s

%[2]s
## Install

    helm install hypershift-crds oci://%[3]s/%[4]s-crds --version %[1]s -n hypershift --create-namespace
    helm install hypershift oci://%[3]s/%[4]s --version %[1]s -n hypershift

The chart names the image by digest. The command line is in the archives hypershift-cli-%[1]s: see [Install](%[5]s/blob/main/docs/cli.md#install).
[Releases](%[5]s/blob/main/docs/releases.md) describes how to verify signatures and SBOMs.

| What | Name | Digest |
|---|---|---|
%[6]s
Commit: %[7]s
`, r.version, notes, r.registry, chart.repository, source, table.String(), r.commit)
	if err := errors.Join(
		os.WriteFile(filepath.Join(r.dist, "images.txt"), []byte(images.String()), 0o644),
		os.WriteFile(filepath.Join(r.dist, "release-notes.md"), []byte(notes), 0o644),
	); err != nil {
		return fmt.Errorf("writing the files of the release: %w", err)
	}
	if err := writeSums(r.dist); err != nil {
		return fmt.Errorf("writing the checksums: %w", err)
	}
	if err := r.signFile(ctx, filepath.Join(r.dist, sums)); err != nil {
		return err
	}
	r.report("released %s; its files are in %s", r.version, r.dist)
	return nil
}

// checksum is the SHA-256 of a file.
func checksum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// writeSums writes the checksums of all files in a directory, in the format of sha256sum, except for signatures of them.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), sums) {
			continue
		}
		digest, err := checksum(filepath.Join(dir, entry.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", digest, entry.Name())
	}
	return os.WriteFile(filepath.Join(dir, sums), []byte(text.String()), 0o644)
}
