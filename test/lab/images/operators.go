package images

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
	"github.com/hosted-control-planes/hypershift/hack/bundle/prebuilt"
)

// The content of the operators' image, as in Dockerfile.
var (
	operators  = []string{"hypershift-operator", "control-plane-operator", "control-plane-operator/sidecar"}
	buildFlags = []string{"-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w"}
)

const binDir = "/usr/bin"

// ourOperators builds the operators from this checkout, unless a bundle has brought them. Dockerfile also adds the public CAs, which only
// AWS needs.
func ourOperators(ctx context.Context, w *workshop) ([]file, error) {
	if files, err := prebuiltOperators(ctx, w); files != nil || err != nil {
		return files, err
	}
	var files []file
	var packages []string
	output := filepath.Join(w.cache, "operators")
	if err := os.MkdirAll(output, 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	for _, dir := range operators {
		program := path.Base(dir)
		packages = append(packages, "./"+dir)
		files = append(files, file{path: path.Join(binDir, program), source: filepath.Join(output, program), mode: 0o755})
	}
	err := gobuild.Run(ctx, w.progress, gobuild.Spec{
		Label:    "building the operators",
		Dir:      w.root,
		Packages: packages,
		Flags:    buildFlags,
		Env:      []string{"CGO_ENABLED=0"},
		Output:   output,
	})
	if err != nil {
		return nil, err
	}
	return files, nil
}

// prebuiltOperators returns the operators if all of them were built before from the same source, otherwise none.
func prebuiltOperators(ctx context.Context, w *workshop) ([]file, error) {
	var files []file
	for _, dir := range operators {
		name := path.Base(dir)
		program, err := prebuilt.Program(ctx, w.root, name)
		if program == "" || err != nil {
			return nil, err
		}
		files = append(files, file{path: path.Join(binDir, name), source: program, mode: 0o755})
	}
	return files, nil
}
