package pinned

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hosted-control-planes/hypershift/hack/binaries/gobuild"
)

// Lock prevents two processes from building into the same directory. The kernel releases it when the process ends.
func Lock(ctx context.Context, progress io.Writer, dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the cache: %w", err)
	}
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	started := time.Now()
	for reported := time.Duration(-1); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			held.Store(dir, true)
			return func() { held.Delete(dir); f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("locking the cache: %w", err)
		}
		waited := time.Since(started)
		_, own := held.Load(dir) // this process shows that build itself
		if due := reported < 0 && waited >= reportAfter || reported >= 0 && waited-reported >= gobuild.Heartbeat; due && !own {
			fmt.Fprintf(progress, "another process is building into %s, waiting (%.0f s)\n", dir, waited.Seconds())
			reported = waited
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// held are the directories that this process has locked.
var held sync.Map

// reportAfter is how long another process may have the lock before it is worth a line.
const reportAfter = 400 * time.Millisecond
