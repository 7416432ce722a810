package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// checkBundle fails early if the bundle of the lab's programs is missing, or its checksum.
func (r *release) checkBundle() error {
	if r.bundle == "" {
		return nil
	}
	for _, file := range []string{r.bundle, r.bundle + ".sha256"} {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("-bundle: %w: `make bundle` writes it", err)
		}
	}
	return nil
}

// labBundle adds the bundle to the files of the release, with the version in its name.
func (r *release) labBundle() error {
	if r.bundle == "" {
		return nil
	}
	name := fmt.Sprintf("hypershift-lab-%s-%s-%s.tar.zst", r.version, runtime.GOOS, runtime.GOARCH)
	line, err := os.ReadFile(r.bundle + ".sha256")
	if err != nil {
		return fmt.Errorf("adding the bundle: %w", err)
	}
	want, _, _ := strings.Cut(string(line), " ")
	to := filepath.Join(r.dist, name)
	if err := copied(r.bundle, to); err != nil {
		return fmt.Errorf("adding the bundle: %w", err)
	}
	got, err := checksum(to)
	if err != nil {
		return fmt.Errorf("adding the bundle: %w", err)
	}
	if got != want {
		return fmt.Errorf("adding the bundle: the checksum of %s is %s, and beside it is %s: `make bundle` again", r.bundle, got, want)
	}
	if err := os.WriteFile(to+".sha256", []byte(got+"  "+name+"\n"), 0o644); err != nil {
		return fmt.Errorf("adding the bundle: %w", err)
	}
	r.report("added %s", name)
	return nil
}

func copied(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	_, err = io.Copy(target, source)
	return err
}
