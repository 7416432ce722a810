package hostedapi

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/bed"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

// Options say where an API server runs.
type Options struct {
	// Management is the management cluster, as an administrator sees it.
	Management *rest.Config
	// Server is the program, and the etcd that it shares.
	Server bed.Another
	// Dir takes the certificates, Log what the server says.
	Dir, Log string
	// Progress gets a line when the server is ready and when it ends; nil for silence.
	Progress io.Writer
}

// API is the running API server of one hosted cluster.
type API struct {
	// Address is where it listens, under whatever name it is called.
	Address string
	// Config is that of an administrator.
	Config *rest.Config

	dir        string
	namespace  string // of the control plane
	ca         *authority
	server     *process.Process
	management client.Client
	kube       kubernetes.Interface // the hosted cluster
	progress   io.Writer

	stop    context.CancelFunc
	done    <-chan struct{}
	running sync.WaitGroup
}

// Start starts the API server of a hosted cluster, which must have its signing key or get it soon. It ends when the
// HostedControlPlane does, or by Stop.
func Start(ctx context.Context, opts Options, hc *hyperv1.HostedCluster) (_ *API, err error) {
	a := &API{namespace: names.ControlPlaneNamespace(hc.Namespace, hc.Name), progress: opts.Progress}
	if a.progress == nil {
		a.progress = io.Discard
	}
	// Not the caller's context: that of a test ends before its clean-up, in which machines still go through this API.
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	a.stop, a.done = stop, work.Done()
	defer func() {
		if err != nil {
			a.Stop()
			err = fmt.Errorf("starting the API server of %s: %w", a.namespace, err)
		}
	}()
	if a.dir, err = os.MkdirTemp(opts.Dir, a.namespace+"-"); err != nil {
		return nil, err
	}
	scheme := clientgoscheme.Scheme
	if err := hyperv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if a.management, err = client.New(opts.Management, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if a.ca, err = newAuthority("hosted cluster " + hc.Name); err != nil {
		return nil, err
	}
	if err := a.startServer(ctx, opts, hc); err != nil {
		return nil, err
	}
	if a.kube, err = kubernetes.NewForConfig(a.Config); err != nil {
		return nil, err
	}
	if err := a.publish(ctx, hc); err != nil {
		return nil, err
	}
	a.every(work, 200*time.Millisecond, a.signRequests)
	a.every(work, 200*time.Millisecond, a.playPods)
	a.every(work, time.Second, a.endWith(client.ObjectKey{Namespace: a.namespace, Name: hc.Name}))
	fmt.Fprintf(a.progress, "hosted API server of %s at %s (stand-in)\n", a.namespace, a.Address)
	return a, nil
}

// Done is closed when the server ends, by Stop or with its cluster.
func (a *API) Done() <-chan struct{} { return a.done }

// Stop ends the server; a second call does nothing.
func (a *API) Stop() {
	a.stop()
	a.running.Wait()
	if a.server != nil {
		a.server.Stop(10 * time.Second)
	}
}

// every repeats something until Stop. What fails is tried again: the management cluster may be restarting, too.
func (a *API) every(ctx context.Context, period time.Duration, do func(context.Context) error) {
	a.running.Go(func() {
		_ = wait.PollUntilContextCancel(ctx, period, true, func(ctx context.Context) (bool, error) {
			if err := do(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintf(a.progress, "hosted API server of %s: %v\n", a.namespace, err)
			}
			return false, nil
		})
	})
}

// endWith ends the server when its HostedControlPlane, once seen, is gone, as its pods would.
func (a *API) endWith(key client.ObjectKey) func(context.Context) error {
	seen := false
	return func(ctx context.Context) error {
		err := a.management.Get(ctx, key, &hyperv1.HostedControlPlane{})
		seen = seen || err == nil
		if !apierrors.IsNotFound(err) {
			return err
		}
		if seen {
			a.stop() // the other loops, and this one
			a.server.Stop(10 * time.Second)
			fmt.Fprintf(a.progress, "hosted API server of %s has ended with its control plane\n", a.namespace)
		}
		return nil
	}
}
