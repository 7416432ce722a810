package images

import (
	"context"
	"path/filepath"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
)

// operators are the programs of our own image.
var operators = []string{"hypershift-operator", "control-plane-operator"}

// ourOperators builds them as Dockerfile does, and puts them where it does.
func ourOperators(ctx context.Context, w *workshop) ([]file, error) {
	var files []file
	for _, program := range operators {
		output := filepath.Join(w.cache, "operators", program)
		err := gobuild.Run(ctx, w.progress, gobuild.Spec{
			Label:   "building " + program,
			Dir:     w.root,
			Package: "./" + program,
			Flags:   []string{"-trimpath", "-ldflags=-s -w"},
			Env:     []string{"CGO_ENABLED=0"},
			Output:  output,
		})
		if err != nil {
			return nil, err
		}
		files = append(files, file{path: "/usr/bin/" + program, source: output, mode: 0o755})
	}
	return files, nil
}
