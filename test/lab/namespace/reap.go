package namespace

import (
	"errors"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Reap runs a program, forwards SIGTERM and SIGINT to it, and reaps the orphans that pid 1 inherits. It returns the exit
// code of the program, with which the caller must exit.
func Reap(path string, args ...string) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT)
	defer signal.Stop(signals)

	program, err := os.StartProcess(path, append([]string{path}, args...), &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", path, err)
	}
	go func() {
		for s := range signals {
			_ = program.Signal(s) // the only error is that it has ended
		}
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("waiting for %s: %w", path, err)
		case pid != program.Pid:
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		default:
			return status.ExitStatus(), nil
		}
	}
}
