package clock

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxSteps is far more than the vDSO has instructions between its entry and its return.
const maxSteps = 10_000

// threads are stopped threads, with the signals that they were about to receive.
type threads map[int]unix.Signal

// whileStopped calls f while all threads of a process are stopped outside of a range of addresses (ptrace(2)).
func whileStopped(pid int, from, to int64, f func() error) error {
	return onNewThread(func() error { return stopped(pid, from, to, f) })
}

// onNewThread calls a function on a thread that then ends. The kernel lets the threads go that it traces, also those that have ended meanwhile, which
// their process would wait for.
func onNewThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // this thread never ends
			result <- onNewThread(f)
			runtime.UnlockOSThread()
			return
		}
		result <- f()
	}()
	return <-result
}

func stopped(pid int, from, to int64, f func() error) (err error) {
	all := threads{}
	defer func() {
		if releaseErr := all.release(); err == nil {
			err = releaseErr
		}
	}()
	for before := -1; len(all) > before; { // a thread may start another one until it stops
		before = len(all)
		if err := all.stop(pid); err != nil {
			return err
		}
	}
	for thread := range all {
		if err := all.leave(thread, from, to); err != nil {
			return err
		}
	}
	return f()
}

// stop stops the threads of a process that are not stopped yet.
func (all threads) stop(pid int) error {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		thread, err := strconv.Atoi(entry.Name())
		if err != nil {
			return err
		}
		if _, isStopped := all[thread]; isStopped {
			continue
		}
		if err = unix.PtraceSeize(thread); err == nil {
			all[thread] = 0
			err = unix.PtraceInterrupt(thread)
		}
		if err == nil {
			err = all.wait(thread)
		}
		if errors.Is(err, unix.ESRCH) {
			delete(all, thread) // it has ended
			continue
		}
		if err != nil {
			return fmt.Errorf("stopping thread %d: %w", thread, err)
		}
	}
	return nil
}

// wait waits until a thread stops, and remembers the signal that it was about to receive.
func (all threads) wait(thread int) error {
	var status unix.WaitStatus
	_, err := unix.Wait4(thread, &status, unix.WALL, nil)
	for errors.Is(err, unix.EINTR) {
		_, err = unix.Wait4(thread, &status, unix.WALL, nil)
	}
	switch {
	case err != nil:
		return err
	case !status.Stopped():
		return unix.ESRCH
	case status>>16 != unix.PTRACE_EVENT_STOP && status.StopSignal() != unix.SIGTRAP:
		all[thread] = status.StopSignal()
	}
	return nil
}

// leave runs a stopped thread until it is outside of a range of addresses.
func (all threads) leave(thread int, from, to int64) error {
	for range maxSteps {
		at, err := instruction(thread)
		if err != nil {
			return fmt.Errorf("reading the registers of thread %d: %w", thread, err)
		}
		if at < from || at >= to {
			return nil
		}
		if err := unix.PtraceSingleStep(thread); err != nil {
			return fmt.Errorf("running thread %d: %w", thread, err)
		}
		if err := all.wait(thread); err != nil {
			return fmt.Errorf("running thread %d: %w", thread, err)
		}
	}
	return fmt.Errorf("thread %d does not leave the vDSO", thread)
}

// release lets all threads run, with their signals.
func (all threads) release() error {
	var errs []error
	for thread, signal := range all {
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(thread), 0, uintptr(signal), 0, 0)
		if errno != 0 && errno != unix.ESRCH {
			errs = append(errs, fmt.Errorf("letting thread %d run: %w", thread, errno))
		}
	}
	return errors.Join(errs...)
}
