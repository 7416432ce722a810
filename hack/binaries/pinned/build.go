package pinned

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
)

// job is one binary to build.
type job struct {
	binary   binary
	pin      pin
	path     string
	progress io.Writer
	place    string // position, e.g. "[2/3]"
}

func (j job) build(ctx context.Context) error {
	dir := filepath.Dir(j.path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the cache: %w", err)
	}
	if err := CheckDisk(dir, j.pin.gib); err != nil {
		return fmt.Errorf("building %s: %w", j.binary.name, err)
	}
	fmt.Fprintf(j.progress, "%s building %s %s: once per version, about %d min on two cores with nothing cached\n", j.place, j.binary.name, j.pin.version, j.binary.minutes)
	started := time.Now()

	// The result is renamed atomically: an interrupted build leaves no file under its name.
	unfinished := fmt.Sprintf("%s.%d", j.path, os.Getpid())
	defer os.Remove(unfinished)
	err := gobuild.Run(ctx, j.progress, gobuild.Spec{
		Label:   j.place + " " + j.binary.name,
		Dir:     j.pin.path,
		Package: j.binary.pkg,
		Flags:   []string{"-trimpath", "-tags=" + strings.Join(j.pin.tags, ","), "-ldflags=" + j.pin.ldflags(j.pin.version)},
		Env:     append([]string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="}, j.pin.env...),
		Output:  unfinished,
	})
	if err != nil {
		return err
	}
	if err := os.Rename(unfinished, j.path); err != nil {
		return fmt.Errorf("building %s: %w", j.binary.name, err)
	}
	fmt.Fprintf(j.progress, "%s built %s in %.0f s\n", j.place, j.binary.name, time.Since(started).Seconds())
	return nil
}
