package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"syscall"
)

// A task runs in a new process of this program. It gets its argument and returns its result as JSON.
type task func(ctx context.Context, t *taskRun) error

type taskRun struct {
	arg    []byte
	result io.Writer
}

func (t *taskRun) read(arg any) error { return json.Unmarshal(t.arg, arg) }

func (t *taskRun) leave(result any) error { return json.NewEncoder(t.result).Encode(result) }

// taskVariable contains the name of the task of this process.
const taskVariable = "HYPERSHIFT_BENCH_TASK"

// resultFile is the descriptor of the result. stdout and stderr are for other output.
const resultFile = 3

// asTask runs the task of this process, if it has one.
func asTask(ctx context.Context) (was bool, err error) {
	name := os.Getenv(taskVariable)
	if name == "" {
		return false, nil
	}
	arg, err := io.ReadAll(os.Stdin)
	if err != nil {
		return true, err
	}
	run, known := tasks()[name]
	if !known {
		return true, fmt.Errorf("there is no task %q", name)
	}
	return true, profiled(name, func() error {
		return run(ctx, &taskRun{arg: arg, result: os.NewFile(resultFile, "result")})
	})
}

// The variables that name the directories for profiles, one per task; see
// -cpuprofile and -memprofile.
const (
	cpuProfiles  = "HYPERSHIFT_BENCH_CPUPROFILE"
	heapProfiles = "HYPERSHIFT_BENCH_MEMPROFILE"
)

// profiled writes a CPU profile of run, if requested. Tasks in virtual time end the process before; their CPU time is of
// no interest.
func profiled(name string, run func() error) error {
	dir := os.Getenv(cpuProfiles)
	if dir == "" {
		return run()
	}
	f, err := os.Create(filepath.Join(dir, name+".cpu.pprof"))
	if err != nil {
		return fmt.Errorf("profiling task %s: %w", name, err)
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return fmt.Errorf("profiling task %s: %w", name, err)
	}
	defer pprof.StopCPUProfile()
	return run()
}

// profileHeap writes a heap profile now, if requested: at the end of the task the operator has stopped.
func profileHeap() error {
	dir := os.Getenv(heapProfiles)
	if dir == "" {
		return nil
	}
	name := os.Getenv(taskVariable)
	f, err := os.Create(filepath.Join(dir, name+".heap.pprof"))
	if err != nil {
		return fmt.Errorf("profiling the heap of task %s: %w", name, err)
	}
	defer f.Close()
	if err := pprof.WriteHeapProfile(f); err != nil {
		return fmt.Errorf("profiling the heap of task %s: %w", name, err)
	}
	return nil
}

// do runs a task and reads its result. It is killed when this process ends.
func do(ctx context.Context, name string, arg, result any) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	text, err := json.Marshal(arg)
	if err != nil {
		return err
	}
	log, err := os.CreateTemp("", "hypershift-bench-"+name+"-*.log")
	if err != nil {
		return fmt.Errorf("opening the log of task %s: %w", name, err)
	}
	defer log.Close()
	from, to, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("running task %s: %w", name, err)
	}
	defer from.Close()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), taskVariable+"="+name)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), log, log
	cmd.ExtraFiles = []*os.File{to}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("running task %s: %w", name, err), to.Close())
	}
	to.Close()
	got, err := io.ReadAll(from)
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("task %s: %w; its log is %s", name, err, log.Name())
	}
	if err := json.Unmarshal(got, result); err != nil {
		return fmt.Errorf("reading the result of task %s: %w; its log is %s", name, err, log.Name())
	}
	return os.Remove(filepath.Clean(log.Name()))
}
