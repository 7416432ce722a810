package sharedrouter

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/routes"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// Set is the set of the ConfigMap.
const Set = "shared-router"

const (
	// soon is how long to wait for Services of a new control plane.
	soon = 2 * time.Second
	// maxClusters is the number of clusters that fit into a ConfigMap.
	maxClusters = 1000
	// configAnnotation, on a pod, is the resourceVersion of the ConfigMap that the pod was annotated for.
	configAnnotation = "hypershift.openshift.io/router-config"
)

// Connections reads the connections of an endpoint service.
type Connections interface {
	Connections(ctx context.Context, owner endpointservice.Owner) ([]endpointservice.Connection, error)
}

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Reader reads past the cache, which has no Services of control planes and no pods.
	Reader client.Reader
	Scheme *runtime.Scheme
	Clock  clock.PassiveClock
	// Namespace is the namespace of this operator and of the router.
	Namespace   string
	Connections Connections
	Limits      sharedrouter.Limits
	// Resync is how often the configuration is compared without a change.
	Resync time.Duration
}

// Reconciler writes the configuration of the shared router.
type Reconciler struct {
	Options
	apply *apply.Applier
	// addresses are the addresses of control planes, which do not change during the life of a HostedCluster. One reconcile runs at a time.
	addresses map[types.UID]addresses
	attempts  *attempts
}

// Controller reconciles the Service of the shared router.
type Controller = reconcile.Controller[*corev1.Service, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{
		Options: opts, apply: apply.New(opts.Client, opts.Scheme, names.HypershiftOperator),
		addresses: map[types.UID]addresses{}, attempts: newAttempts(opts.Clock),
	}
	steps := []reconcile.Step[*scope]{
		{Name: "clusters", Run: r.findClusters},
		{Name: "addresses", Run: r.findAddresses},
		{Name: "endpoints", Run: r.findEndpoints},
		{Name: "configuration", Run: r.applyConfiguration},
		{Name: "router pods", Run: r.annotatePods},
	}
	return &Controller{
		Name: "sharedrouter", Client: opts.Client, Reader: opts.Reader, Clock: opts.Clock,
		Scope: func(_ context.Context, svc *corev1.Service, _ *reconcile.Writer[*corev1.Service]) (*scope, error) {
			if svc.Namespace != opts.Namespace || svc.Name != sharedrouter.Public || !svc.DeletionTimestamp.IsZero() {
				return nil, reconcile.Skip(0)
			}
			return &scope{service: svc}, nil
		},
		Phase:       func(*scope) []reconcile.Step[*scope] { return steps },
		Resync:      func(*scope) time.Duration { return opts.Resync },
		NoLaterThan: func(s *scope) time.Duration { return s.again },
	}
}

// scope holds the facts of one reconcile.
type scope struct {
	service *corev1.Service
	// clusters are the clusters of the router, the oldest first. Set by findClusters, completed by the next steps.
	clusters []cluster
	// previous are the clusters of endpoints in the current configuration. Set by findClusters.
	previous map[string]string
	// config is the ConfigMap as it was applied. Set by applyConfiguration.
	config *corev1.ConfigMap
	// again is when to look again for what is missing; 0 if nothing is.
	again time.Duration
}

// awaits makes the next reconcile come after d at the latest.
func (s *scope) awaits(d time.Duration) {
	if s.again == 0 || d < s.again {
		s.again = d
	}
}

// cluster is a HostedCluster and what the router has of it.
type cluster struct {
	hc *hyperv1.HostedCluster
	// claimed is the id of the endpoint that the control-plane-operator reports; empty without one.
	claimed string
	sharedrouter.Cluster
}

// addresses are the addresses of the Services of a control plane.
type addresses struct{ api, konnectivity netip.AddrPort }

func (r *Reconciler) findClusters(ctx context.Context, s *scope) error {
	var connected hyperv1.AWSEndpointServiceList
	if err := r.Client.List(ctx, &connected); err != nil {
		return fmt.Errorf("listing AWSEndpointServices: %w", err)
	}
	claims := map[string]string{} // by namespace
	for _, es := range connected.Items {
		if es.Name == sharedrouter.EndpointService {
			claims[es.Namespace] = es.Status.EndpointID
		}
	}
	var list hyperv1.HostedClusterList
	if err := r.Client.List(ctx, &list); err != nil {
		return fmt.Errorf("listing HostedClusters: %w", err)
	}
	for i := range list.Items {
		hc := &list.Items[i]
		namespace := names.ControlPlaneNamespace(hc.Namespace, hc.Name)
		claimed, isConnected := claims[namespace]
		if hc.Unreadable() != "" || hc.Spec.Platform.AWS == nil || !isConnected && !(sharedrouter.Wanted(hc) && hc.DeletionTimestamp.IsZero()) {
			continue
		}
		c := cluster{hc: hc, claimed: claimed}
		c.Cluster = served(hc, namespace)
		s.clusters = append(s.clusters, c)
	}
	slices.SortFunc(s.clusters, func(a, b cluster) int {
		if index.Older(a.hc, b.hc) {
			return -1
		}
		return 1
	})
	if len(s.clusters) > maxClusters {
		s.clusters = s.clusters[:maxClusters]
	}
	current := &corev1.ConfigMap{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: sharedrouter.Public}, current); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting the configuration: %w", err)
	}
	s.previous = sharedrouter.Owners(current.Data)
	return nil
}

// served returns the hosts and the networks of clients of a cluster.
func served(hc *hyperv1.HostedCluster, namespace string) sharedrouter.Cluster {
	c := sharedrouter.Cluster{
		Namespace:           namespace,
		PrivateAPI:          []string{names.LocalAPI(hc.Name)},
		PrivateKonnectivity: []string{names.LocalApp(hc.Name, names.KonnectivityServer)},
	}
	api := hyperv1.PublishingOf(routes.WithHosts(hc.Name, &hc.Spec, false), hyperv1.APIServer)
	if host := api.Hostname(); api.Type == hyperv1.Route && host != "" {
		// Clients in the VPC of the nodes use it as well.
		c.PrivateAPI = append(c.PrivateAPI, host)
		if hc.Spec.Platform.AWS.EndpointAccess != hyperv1.Private {
			c.PublicHosts = []string{host}
		}
	}
	if hc.Spec.Networking.APIServer != nil {
		for _, block := range hc.Spec.Networking.APIServer.AllowedCIDRBlocks {
			if network, err := netip.ParsePrefix(strings.TrimSpace(string(block))); err == nil {
				c.Allowed = append(c.Allowed, network)
			}
		}
	}
	return c
}

// findAddresses leaves out clusters without a Service of an API server.
func (r *Reconciler) findAddresses(ctx context.Context, s *scope) error {
	kept, known := []cluster{}, map[types.UID]addresses{}
	for _, c := range s.clusters {
		at, exists := r.addresses[c.hc.UID]
		if !exists {
			var err error
			if at, err = r.addressesIn(ctx, c.Namespace); err != nil {
				return err
			}
		}
		if !at.api.IsValid() || !at.konnectivity.IsValid() {
			s.awaits(soon)
		} else {
			known[c.hc.UID] = at
		}
		if at.api.IsValid() {
			c.API, c.Konnectivity = at.api, at.konnectivity
			kept = append(kept, c)
		}
	}
	s.clusters, r.addresses = kept, known
	return nil
}

func (r *Reconciler) addressesIn(ctx context.Context, namespace string) (found addresses, err error) {
	for name, at := range map[string]*netip.AddrPort{names.KubeAPIServer: &found.api, names.KonnectivityServer: &found.konnectivity} {
		svc := &corev1.Service{}
		if err := r.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, svc); client.IgnoreNotFound(err) != nil {
			return found, fmt.Errorf("getting Service %s in namespace %s: %w", name, namespace, err)
		}
		address, err := netip.ParseAddr(svc.Spec.ClusterIP)
		if err == nil && len(svc.Spec.Ports) > 0 {
			*at = netip.AddrPortFrom(address, uint16(svc.Spec.Ports[0].Port)) //nolint:gosec // the API server accepts ports up to 65535
		}
	}
	return found, nil
}

// applyConfiguration applies the ConfigMap. It is deleted with the Service.
func (r *Reconciler) applyConfiguration(ctx context.Context, s *scope) error {
	table := sharedrouter.Table{Limits: r.Limits}
	for _, c := range s.clusters {
		table.Clusters = append(table.Clusters, c.Cluster)
	}
	s.config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: sharedrouter.Public}, Data: table.Data()}
	set := apply.Set{Name: Set, Namespace: r.Namespace, Kinds: []client.ObjectList{&corev1.ConfigMapList{}}, Parent: s.service}
	_, err := r.apply.Apply(ctx, set, s.config)
	return err
}

// annotatePods makes kubelets update the files of pods whose configuration has changed since they were annotated. A kubelet would otherwise do
// so once a minute.
func (r *Reconciler) annotatePods(ctx context.Context, s *scope) error {
	live := &corev1.ConfigMap{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(s.config), live); err != nil {
		return fmt.Errorf("getting the configuration: %w", err)
	}
	pods := &corev1.PodList{}
	if err := r.Reader.List(ctx, pods, client.InNamespace(r.Namespace), client.MatchingLabels{"app": sharedrouter.Public}); err != nil {
		return fmt.Errorf("listing the pods of the shared router: %w", err)
	}
	patch := mergepatch.Annotations(map[string]string{configAnnotation: live.ResourceVersion})
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Annotations[configAnnotation] == live.ResourceVersion || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.Client.Patch(ctx, pod, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("annotating pod %s: %w", pod.Name, err)
		}
	}
	return nil
}
