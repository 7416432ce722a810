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

const binDir = "/usr/bin"

// ourOperators builds the operators from this checkout, unless a bundle has brought them. Dockerfile also adds the public CAs, which only
// AWS needs.
func ourOperators(ctx context.Context, w *workshop) ([]file, error) {
	if files, err := prebuiltOperators(ctx, w); files != nil || err != nil {
		return files, err
	}
	var files []file
	output := filepath.Join(w.cache, "operators")
	if err := os.MkdirAll(output, 0o755); err != nil {
		return nil, fmt.Errorf("making the cache: %w", err)
	}
	build := prebuilt.Operators
	build.Dir, build.Output = w.root, output
	for _, dir := range build.Packages {
		program := path.Base(dir)
		files = append(files, file{path: path.Join(binDir, program), source: filepath.Join(output, program), mode: 0o755})
	}
	if err := gobuild.Run(ctx, w.progress, build); err != nil {
		return nil, err
	}
	return files, nil
}

// prebuiltOperators returns the operators if all of them were built before from the same source, otherwise none.
func prebuiltOperators(ctx context.Context, w *workshop) ([]file, error) {
	var files []file
	for _, dir := range prebuilt.Operators.Packages {
		name := path.Base(dir)
		program, err := prebuilt.Program(ctx, w.root, name)
		if program == "" || err != nil {
			return nil, err
		}
		files = append(files, file{path: path.Join(binDir, name), source: program, mode: 0o755})
	}
	return files, nil
}
