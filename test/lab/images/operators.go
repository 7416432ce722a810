package images

import (
	"context"
	"path"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
)

// The content of the operators' image, as in Dockerfile.
var (
	operators  = []string{"hypershift-operator", "control-plane-operator", "control-plane-operator/sidecar"}
	buildFlags = []string{"-tags=grpcnotrace", "-trimpath", "-ldflags=-s -w"}
)

const binDir = "/usr/bin"

// ourOperators builds the operators from this checkout. Dockerfile also adds the public CAs, which only AWS needs.
func ourOperators(ctx context.Context, w *workshop) ([]file, error) {
	var files []file
	for _, dir := range operators {
		program := path.Base(dir)
		output := filepath.Join(w.cache, "operators", program)
		err := gobuild.Run(ctx, w.progress, gobuild.Spec{
			Label:   "building " + program,
			Dir:     w.root,
			Package: "./" + dir,
			Flags:   buildFlags,
			Env:     []string{"CGO_ENABLED=0"},
			Output:  output,
		})
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: path.Join(binDir, program), source: output, mode: 0o755})
	}
	return files, nil
}
