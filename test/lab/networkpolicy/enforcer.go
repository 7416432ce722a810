package networkpolicy

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	networkinglisters "k8s.io/client-go/listers/networking/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/hosted-control-planes/hypershift/test/lab/nftables"
)

// Options configure an Enforcer.
type Options struct {
	// Node is the name of the node, Bridge the link of its pods.
	Node, Bridge string
	// Client reads policies, namespaces and pods.
	Client kubernetes.Interface
	// Socket is the socket for calls of the CNI plugin.
	Socket string
	Log    *slog.Logger
}

// Enforcer enforces NetworkPolicies on a node.
type Enforcer struct {
	Options
	pods       corelisters.PodLister
	namespaces corelisters.NamespaceLister
	policies   networkinglisters.NetworkPolicyLister
	synced     chan struct{} // closed when the informers have synced
	wake       chan struct{}

	mu        sync.Mutex // held while rules are written
	writer    *nftables.Writer
	addresses map[types.UID][]netip.Addr
}

// newTable returns the writer of the table of this package.
func newTable() (*nftables.Writer, error) {
	return nftables.NewWriter("networkpolicy", "NetworkPolicies")
}

// retry is the delay after a failed write.
const retry = time.Second

// Start blocks the network of all pods, and applies the policies when the API server has responded. It follows changes
// until ctx ends.
func Start(ctx context.Context, o Options) (*Enforcer, error) {
	w, err := newTable()
	if err != nil {
		return nil, err
	}
	return start(ctx, o, w)
}

func start(ctx context.Context, o Options, w *nftables.Writer) (*Enforcer, error) {
	e := &Enforcer{
		Options: o, writer: w,
		synced: make(chan struct{}), wake: make(chan struct{}, 1), addresses: map[types.UID][]netip.Addr{},
	}
	if err := w.Write(ctx, render(Rules{}, o.Bridge)); err != nil {
		return nil, err
	}
	if err := e.listen(ctx); err != nil {
		return nil, err
	}
	return e, e.follow(ctx)
}

// follow starts the informers.
func (e *Enforcer) follow(ctx context.Context) error {
	factory := informers.NewSharedInformerFactoryWithOptions(e.Client, 0, informers.WithTransform(trim))
	pods, namespaces, policies := factory.Core().V1().Pods(), factory.Core().V1().Namespaces(), factory.Networking().V1().NetworkPolicies()
	e.pods, e.namespaces, e.policies = pods.Lister(), namespaces.Lister(), policies.Lister()
	for _, i := range []cache.SharedIndexInformer{pods.Informer(), namespaces.Informer(), policies.Informer()} {
		_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { e.changed() }, UpdateFunc: func(any, any) { e.changed() }, DeleteFunc: func(any) { e.changed() },
		})
		if err != nil {
			return fmt.Errorf("following NetworkPolicies: %w", err)
		}
	}
	factory.Start(ctx.Done())
	go func() {
		factory.WaitForCacheSync(ctx.Done())
		if ctx.Err() != nil {
			return
		}
		close(e.synced)
		e.changed()
		e.run(ctx)
	}()
	return nil
}

// trim drops large unused fields.
func trim(object any) (any, error) {
	if m, err := meta.Accessor(object); err == nil {
		m.SetManagedFields(nil)
		m.SetAnnotations(nil)
	}
	return object, nil
}

func (e *Enforcer) changed() {
	select {
	case e.wake <- struct{}{}:
	default: // a write that has not read the state yet follows
	}
}

// run writes the rules after each change.
func (e *Enforcer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.wake:
		}
		if err := e.write(ctx); err != nil && ctx.Err() == nil {
			e.Log.Error("NetworkPolicies are not up to date", "err", err)
			time.AfterFunc(retry, e.changed)
		}
	}
}

// write evaluates the state of the informers, and writes the rules.
func (e *Enforcer) write(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := State{Node: e.Node, Addresses: e.addresses}
	// These lists come from memory and do not fail.
	s.Pods, _ = e.pods.List(labels.Everything())
	s.Namespaces, _ = e.namespaces.List(labels.Everything())
	s.Policies, _ = e.policies.List(labels.Everything())
	return e.writer.Write(ctx, render(Evaluate(s), e.Bridge))
}

// made applies the policies to the network of a new pod, and returns when they are in effect.
func (e *Enforcer) made(ctx context.Context, p Pod) error {
	if err := e.await(ctx, p); err != nil {
		return err
	}
	e.mu.Lock()
	e.addresses[p.UID] = p.Addresses
	e.mu.Unlock()
	return e.write(ctx)
}

// await waits until the informers have the pod. The kubelet may be ahead of them.
func (e *Enforcer) await(ctx context.Context, p Pod) error {
	select {
	case <-e.synced:
	case <-ctx.Done():
		return fmt.Errorf("the NetworkPolicies have not been read yet: %w", context.Cause(ctx))
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		known, err := e.pods.Pods(p.Namespace).Get(p.Name)
		if err == nil && known.UID == p.UID {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("pod %s/%s (%s) is not known: %w", p.Namespace, p.Name, p.UID, context.Cause(ctx))
		case <-again.C:
		}
	}
}

// gone removes a pod that has ended.
func (e *Enforcer) gone(p Pod) {
	e.mu.Lock()
	delete(e.addresses, p.UID)
	e.mu.Unlock()
	e.changed()
}
