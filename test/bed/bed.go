package bed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

// Options say what a bed has.
type Options struct {
	// Progress gets a line per thing that starts; nil for silence.
	Progress io.Writer
	// CRDs are files and directories with the CustomResourceDefinitions to install; DefaultCRDs gives ours.
	CRDs []string
	// Audit lets the API server write down what service accounts ask of it; see AuditLog.
	Audit bool
}

// Bed is a running management cluster.
type Bed struct {
	// Dir holds everything the bed writes, with the logs in Dir/logs.
	Dir string
	// Config and Kubeconfig (a path) are those of an administrator.
	Config     *rest.Config
	Kubeconfig string

	progress io.Writer
	plane    *envtest.ControlPlane // nil on an existing cluster
	keep     bool
	stops    []stop
}

// stop ends one part of the bed.
type stop struct {
	what string
	run  func() error
}

// Start starts a bed. On failure everything that had started is stopped again.
func Start(ctx context.Context, opts Options) (_ *Bed, err error) {
	b := &Bed{progress: opts.Progress}
	if b.progress == nil {
		b.progress = io.Discard
	}
	if b.Dir, err = os.MkdirTemp("", "hypershift-bed-"); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Stop())
		}
	}()
	if err := os.Mkdir(b.path("logs"), 0o755); err != nil {
		return nil, fmt.Errorf("making the log directory: %w", err)
	}

	if existing() {
		err = b.useExisting()
	} else {
		err = b.startControlPlane(ctx, opts.Audit)
	}
	if err != nil {
		return nil, err
	}
	b.say("API server at %s", b.Config.Host)
	// Before the controller manager: its garbage collector finds kinds that appear later only half a minute later.
	if err := b.installCRDs(opts.CRDs); err != nil {
		return nil, err
	}
	if b.plane != nil {
		err = b.startControllerManager(ctx)
	}
	return b, err
}

// Keep leaves certificates, data and logs in place when the bed stops.
func (b *Bed) Keep() { b.keep = true }

// Stop stops everything, the last started first, and removes the state.
func (b *Bed) Stop() error {
	var errs []error
	for i := len(b.stops) - 1; i >= 0; i-- {
		if err := b.stops[i].run(); err != nil {
			errs = append(errs, fmt.Errorf("stopping %s: %w", b.stops[i].what, err))
		}
	}
	b.stops = nil
	if !b.keep {
		errs = append(errs, os.RemoveAll(b.Dir))
	}
	return errors.Join(errs...)
}

// existing reports whether the cluster of KUBECONFIG is to be used. It takes a second variable, the one envtest reads,
// because many shells have a KUBECONFIG that points to a cluster which no test should touch.
func existing() bool { return os.Getenv("USE_EXISTING_CLUSTER") == "true" }

func (b *Bed) useExisting() error {
	b.Kubeconfig = os.Getenv("KUBECONFIG")
	cfg, err := clientcmd.BuildConfigFromFlags("", b.Kubeconfig)
	if err != nil {
		return fmt.Errorf("using the existing cluster of KUBECONFIG: %w", err)
	}
	b.Config = cfg
	return nil
}

// DefaultCRDs are the kinds this project defines and Route, the one kind of others that it needs.
func DefaultCRDs() ([]string, error) {
	root, err := pinned.Root()
	if err != nil {
		return nil, err
	}
	var dirs []string
	err = filepath.WalkDir(filepath.Join(root, "config", "crd"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("finding our CRDs: %w", err)
	}
	return dirs, nil
}

func (b *Bed) installCRDs(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	crds, err := envtest.InstallCRDs(b.Config, envtest.CRDInstallOptions{Paths: paths, ErrorIfPathMissing: true})
	if err != nil {
		return fmt.Errorf("installing CRDs: %w", err)
	}
	b.say("%d CRDs", len(crds))
	return nil
}

func (b *Bed) path(elem ...string) string { return filepath.Join(append([]string{b.Dir}, elem...)...) }

func (b *Bed) onStop(what string, run func() error) { b.stops = append(b.stops, stop{what, run}) }

// Log is the path of the log of one server.
func (b *Bed) Log(name string) string { return b.path("logs", name+".log") }

// openLog opens a log that stays open as long as the bed runs.
func (b *Bed) openLog(name string) (*os.File, error) {
	f, err := os.Create(b.Log(name))
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	b.onStop("the log of "+name, f.Close)
	return f, nil
}

func (b *Bed) tails(names ...string) string {
	var s strings.Builder
	for _, name := range names {
		fmt.Fprintf(&s, "last lines of %s:\n%s\n", name, process.Tail(b.Log(name), 15))
	}
	return s.String()
}

// say prints a line; whoever gives Progress adds the time, if there is to be one.
func (b *Bed) say(format string, args ...any) { fmt.Fprintf(b.progress, format+"\n", args...) }
