package awsemulator

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

// Options say how an emulator is started; the zero value is right for a test.
type Options struct {
	// Region is where Env, Config and the seeds work. Default: us-east-1.
	Region string
	// Host and Port to listen on. Default: the loopback address, and a free port.
	Host string
	Port int
	// Progress gets a line per step of the installation, which takes a while the first
	// time. Default: standard error.
	Progress io.Writer
	// Log gets the server's standard error: stack traces of its own mistakes. Default: standard error.
	Log io.Writer
}

// Install downloads and installs now, so that the first Start needs no network.
func Install(ctx context.Context, progress io.Writer) error {
	_, err := install(ctx, progress)
	return err
}

// Connect is for an emulator that another process has started, at that URL; Stop does not stop it. Others may make accounts there
// too: ours begin anywhere.
func Connect(url string, o Options) *Emulator {
	return &Emulator{URL: url, region: cmp.Or(o.Region, "us-east-1"), given: map[string]bool{}, next: 1 + rand.IntN(1e10)}
}

// Emulator is a running AWS emulator.
type Emulator struct {
	// URL is where it listens: the endpoint of every AWS service.
	URL string

	region string
	stdin  io.Closer // the server leaves when this is closed, or when we die; nil if it is not ours
	exited chan struct{}

	mu    sync.Mutex
	given map[string]bool // resources of the seeds: no leftovers
	next  int             // for NewAccount
}

// Start installs the emulator if need be, and runs one until Stop is called, ctx ends,
// or this process dies.
func Start(ctx context.Context, o Options) (*Emulator, error) {
	if o.Progress == nil {
		o.Progress = os.Stderr
	}
	if o.Log == nil {
		o.Log = os.Stderr
	}
	installed, err := install(ctx, o.Progress)
	if err != nil {
		return nil, err
	}

	server := exec.CommandContext(ctx, installed.python, "-m", "emulator",
		"--host", cmp.Or(o.Host, "127.0.0.1"), "--port", strconv.Itoa(o.Port))
	server.Dir = installed.source
	server.Env = append(os.Environ(), "PYTHONPATH=", "PYTHONDONTWRITEBYTECODE=")
	server.Stderr = o.Log
	stdin, err := server.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the AWS emulator: %w", err)
	}
	stdout, err := server.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the AWS emulator: %w", err)
	}
	if err := server.Start(); err != nil {
		return nil, fmt.Errorf("starting the AWS emulator: %w", err)
	}
	e := &Emulator{
		region: cmp.Or(o.Region, "us-east-1"),
		stdin:  stdin,
		exited: make(chan struct{}),
		given:  map[string]bool{},
	}
	// The server says one line, when it listens.
	var ready struct{ URL string }
	line, readErr := bufio.NewReader(stdout).ReadBytes('\n')
	go func() {
		defer close(e.exited)
		_ = server.Wait()
	}()
	if err := errors.Join(readErr, json.Unmarshal(line, &ready)); err != nil {
		e.Stop()
		return nil, fmt.Errorf("the AWS emulator ended before it was ready: %w", err)
	}
	e.URL = ready.URL
	return e, nil
}

// Stop ends the server and waits until it is gone.
func (e *Emulator) Stop() {
	if e.stdin == nil {
		return
	}
	_ = e.stdin.Close()
	<-e.exited
}
