package clock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// interval is how long a new process has the right time at most.
const interval = 100 * time.Millisecond

// A Skew is the wrong wall clock of the descendants of a process.
type Skew struct {
	end  context.CancelFunc
	done chan struct{}
	err  error
}

// Start makes the wall clock of all descendants of a process wrong by a duration, which is positive if it is fast. Those that start later have it
// after a tenth of a second. It returns when the processes of that moment have it. No other thread of this process may wait for them.
func Start(pid int, by time.Duration) (*Skew, error) {
	v, err := find()
	if err != nil {
		return nil, err
	}
	code, err := v.code(by)
	if err != nil {
		return nil, err
	}
	if err := v.set(pid, code); err != nil {
		return nil, errors.Join(err, v.set(pid, v.original()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Skew{end: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		again := time.NewTicker(interval)
		defer again.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-again.C:
				s.err = cmp.Or(s.err, v.set(pid, code))
			}
		}
		s.err = cmp.Or(s.err, v.set(pid, v.original()))
	}()
	return s, nil
}

// Stop makes the clock right again. It returns the first error since Start.
func (s *Skew) Stop() error {
	s.end()
	<-s.done
	return s.err
}

// set writes functions into all descendants of a process.
func (v *vdso) set(pid int, code functions) error {
	all, err := descendants(pid)
	if err != nil {
		return err
	}
	var errs []error
	for _, pid := range all {
		err := v.write(pid, code)
		if err != nil {
			err = v.write(pid, code) // it has ended meanwhile, or runs another program
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("setting the clock of process %d: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}

// descendants returns the processes that have started from another one. A process whose parent has ended becomes a child of the first process of its
// namespace.
func descendants(pid int) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	children := map[int][]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// The fields behind the name, which may contain anything, are the state and the parent (proc_pid_stat(5)).
		behind := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || len(behind) < 2 || behind[0] == "Z" {
			continue
		}
		parent, err := strconv.Atoi(behind[1])
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", file, err)
		}
		children[parent] = append(children[parent], child)
	}
	all := children[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all, nil
}
