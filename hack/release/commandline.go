package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// commandLinePlatforms are those for which the command line is published.
var commandLinePlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// names are the names of the command line. Under each of them it offers the same commands.
var names = []string{"hypershift", "hcp"}

// completions are the places of the scripts for completion in an archive, by shell. Shells load them from there if the archive is unpacked
// into /usr/local. PowerShell has no such place.
var completions = map[string]string{
	"bash":       "share/bash-completion/completions/%s",
	"zsh":        "share/zsh/site-functions/_%s",
	"fish":       "share/fish/vendor_completions.d/%s.fish",
	"powershell": "share/powershell/%s.ps1",
}

// commandLine builds the command line, and writes an archive and an SBOM for each platform into the directory of the release.
func (r *release) commandLine(ctx context.Context) error {
	work, err := os.MkdirTemp("", "release-command-line-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	shared, err := r.documents(ctx, work)
	if err != nil {
		return err
	}
	for _, platform := range commandLinePlatforms {
		r.report("building the command line for %s", platform)
		dir := filepath.Join(work, platform)
		program, err := r.compile(ctx, platform, dir)
		if err != nil {
			return err
		}
		if err := r.archive(platform, append(programFiles(platform, program), shared...)); err != nil {
			return fmt.Errorf("writing the archive for %s: %w", platform, err)
		}
		digest := sha256.Sum256(program)
		if err := r.writeSBOM(ctx, r.commandLineFile(platform, ".spdx.json"), scan{
			source: "dir:" + dir, name: "hypershift-cli", host: dir, digest: "sha256:" + hex.EncodeToString(digest[:]),
		}); err != nil {
			return fmt.Errorf("listing what the command line for %s contains: %w", platform, err)
		}
	}
	return nil
}

// commandLineFile returns the path of a file about the command line for a platform.
func (r *release) commandLineFile(platform, suffix string) string {
	return filepath.Join(r.dist, "hypershift-cli-"+r.version+"-"+strings.ReplaceAll(platform, "/", "-")+suffix)
}

// compile builds the command line for a platform in a directory of its own, and returns it.
func (r *release) compile(ctx context.Context, platform, dir string) ([]byte, error) {
	flags, err := r.buildFlags()
	if err != nil {
		return nil, err
	}
	goos, goarch, _ := strings.Cut(platform, "/")
	program := filepath.Join(dir, names[0])
	args := append(append([]string{"build"}, flags...), "-o", program, "./cmd/hypershift")
	if _, err := r.outputWith(ctx, []string{"GOOS=" + goos, "GOARCH=" + goarch, "CGO_ENABLED=0", "GOFLAGS="}, "go", args...); err != nil {
		return nil, err
	}
	return os.ReadFile(program)
}

// buildFlags returns the flags with which ko builds the operators.
func (r *release) buildFlags() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(r.root, koConfig))
	if err != nil {
		return nil, err
	}
	parsed, err := template.New(koConfig).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", koConfig, err)
	}
	var filled bytes.Buffer
	if err := parsed.Execute(&filled, map[string]any{"Env": r.stamp()}); err != nil {
		return nil, fmt.Errorf("filling in %s: %w", koConfig, err)
	}
	var ko struct{ DefaultFlags, DefaultLdflags []string }
	if err := yaml.Unmarshal(filled.Bytes(), &ko); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", koConfig, err)
	}
	return append(ko.DefaultFlags, "-trimpath", "-buildvcs=false", "-ldflags="+strings.Join(ko.DefaultLdflags, " ")), nil
}

// documents returns the files of an archive that are the same for all platforms: manual pages, scripts for completion and the license.
func (r *release) documents(ctx context.Context, work string) ([]file, error) {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	files := []file{{name: "share/doc/hypershift/LICENSE", mode: 0o644, content: license}}

	native := filepath.Join(work, "native")
	if _, err := r.compile(ctx, runtime.GOOS+"/"+runtime.GOARCH, native); err != nil {
		return nil, err
	}
	for _, name := range names[1:] {
		if err := os.Symlink(names[0], filepath.Join(native, name)); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		for shell, place := range completions {
			script, err := r.output(ctx, filepath.Join(native, name), "completion", shell)
			if err != nil {
				return nil, err
			}
			files = append(files, file{name: fmt.Sprintf(place, name), mode: 0o644, content: []byte(script)})
		}
	}

	manual := filepath.Join(work, "man")
	if _, err := r.output(ctx, filepath.Join(native, names[0]), "man", "--output-dir", manual); err != nil {
		return nil, err
	}
	pages, err := filepath.Glob(filepath.Join(manual, "man1", "*.1"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: "share/man/man1/" + filepath.Base(page), mode: 0o644, content: text})
	}
	return files, nil
}

// programFiles returns the program under its names. On Windows, links need a privilege.
func programFiles(platform string, program []byte) []file {
	var files []file
	for i, name := range names {
		f := file{name: "bin/" + name, mode: 0o755, content: program}
		switch {
		case strings.HasPrefix(platform, "windows/"):
			f.name += ".exe"
		case i > 0:
			f = file{name: f.name, link: names[0]}
		}
		files = append(files, f)
	}
	return files
}

// archive writes the archive for a platform.
func (r *release) archive(platform string, files []file) error {
	write, suffix := writeTar, ".tar.gz"
	if strings.HasPrefix(platform, "windows/") {
		write, suffix = writeZip, ".zip"
	}
	var packed bytes.Buffer
	if err := write(&packed, files, r.date); err != nil {
		return err
	}
	return os.WriteFile(r.commandLineFile(platform, suffix), packed.Bytes(), 0o644)
}
