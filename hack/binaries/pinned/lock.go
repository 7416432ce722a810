package pinned

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
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
			own(f)
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("locking the cache: %w", err)
		}
		waited := time.Since(started)
		if (reported < 0 || waited-reported >= gobuild.Heartbeat) && !isOwn(f) {
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

// own writes the id of this process to a lock. Only a message depends on it: see isOwn.
func own(f *os.File) {
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
}

// isOwn reports whether this process has the lock: it shows that build itself.
func isOwn(f *os.File) bool {
	text := make([]byte, 16)
	n, _ := f.ReadAt(text, 0) // io.EOF at its end
	return string(text[:n]) == strconv.Itoa(os.Getpid())
}
