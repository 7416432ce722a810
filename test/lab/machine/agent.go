package machine

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"text/template"
	"time"

	"github.com/hosted-control-planes/hypershift/test/fixture/process"
)

//go:embed templates
var templates embed.FS

// Run runs the agent of the machine in dir until ctx ends.
func Run(ctx context.Context, dir string) error {
	s, err := Read(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.path("logs"), 0o755); err != nil {
		return fmt.Errorf("running machine %s: %w", s.Name, err)
	}
	a := &agent{Spec: s, log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	defer a.servers.Wait()
	for _, step := range []func(context.Context) error{a.enforceNetworkPolicies, a.startContainerd, a.serveVolumes, a.startKubelet, a.startKubeProxy, a.connectPods} {
		if err := step(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("running machine %s: %w", s.Name, err)
		}
	}
	<-ctx.Done()
	return nil
}

type agent struct {
	Spec
	log     *slog.Logger
	servers sync.WaitGroup
}

// keep runs a server, and restarts it one second after it has ended, until ctx ends.
func (a *agent) keep(ctx context.Context, name string, args ...string) {
	spec := process.Spec{
		Name: name,
		Path: a.program(name),
		Args: args,
		Env:  append(os.Environ(), "PATH="+filepath.Join(a.Lab, "bin")+":"+os.Getenv("PATH")),
		Log:  a.path("logs", name+".log"),
	}
	a.servers.Go(func() {
		for ctx.Err() == nil {
			p, err := process.Start(spec)
			if err != nil {
				a.log.Error("Not started", "server", name, "err", err)
				return
			}
			a.log.Info("Started", "server", name, "pid", p.PID())
			select {
			case <-ctx.Done():
				p.Stop(5 * time.Second)
				return
			case <-p.Done():
				a.log.Error("Ended", "server", name, "err", p.Err())
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
}

// write renders one of the templates.
func (a *agent) write(path, name string, data any) error {
	t, err := template.ParseFS(templates, "templates/"+name)
	if err != nil {
		return fmt.Errorf("reading the template of %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	// kube-proxy ends when its file changes, and containerd reads directories at any time. Therefore a file is written
	// atomically.
	unfinished, err := os.CreateTemp(filepath.Dir(path), ".unfinished-")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(unfinished.Name())
	if err := t.Execute(unfinished, data); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := unfinished.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.Rename(unfinished.Name(), path)
}

// until polls until the result is true or an error.
func until(ctx context.Context, ask func() (bool, error)) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		yes, err := ask()
		if yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}

// listening reports whether a process listens on a socket.
func listening(socket string) (bool, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false, nil //nolint:nilerr // not yet
	}
	return true, conn.Close()
}
