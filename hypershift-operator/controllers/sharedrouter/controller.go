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
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/haproxy"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/routes"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// Set is the set of the ConfigMap.
const Set = "shared-router"

// Connections reads the connections of an endpoint service.
type Connections interface {
	Connections(ctx context.Context, owner endpointservice.Owner) ([]endpointservice.Connection, error)
}

// Options configure a Reconciler.
type Options struct {
	// Client reads from the cache, which has the Services of control planes that have the label of an endpoint.
	Client client.Client
	// Reader reads past the cache, which has no pods.
	Reader   client.Reader
	Scheme   *runtime.Scheme
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Namespace is the namespace of this operator and of the router.
	Namespace   string
	Connections Connections
	Limits      sharedrouter.Limits
	// Sources are the networks of the load balancers; empty for all.
	Sources []netip.Prefix
	// Resync is how often the configuration is compared without a change.
	Resync time.Duration
}

// Reconciler writes the configuration of the shared router.
type Reconciler struct {
	Options
	apply    *apply.Applier
	attempts *attempts
	// omitted are the namespaces of clusters that did not fit. One reconcile runs at a time.
	omitted []string
	// synced is true if the pods of the router have been annotated for the current configuration.
	synced bool
}

// Controller reconciles the Service of the shared router.
type Controller = reconcile.Controller[*corev1.Service, *scope]

// New returns the controller.
func New(opts Options) *Controller {
	r := &Reconciler{
		Options: opts, apply: apply.New(opts.Client, opts.Scheme, names.HypershiftOperator), attempts: newAttempts(opts.Clock),
	}
	steps := []reconcile.Step[*scope]{
		{Name: "clusters", Run: r.findClusters},
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
	// clusters are the clusters of the router, the oldest first. Set by findClusters, completed by findEndpoints.
	clusters []cluster
	// previous are the clusters of endpoints in the current configuration. Set by findClusters.
	previous map[string]string
	// config is the ConfigMap as it was applied, and changed whether that was a change. Set by applyConfiguration.
	config  *corev1.ConfigMap
	changed bool
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
		c := cluster{hc: hc, Cluster: served(hc)}
		claimed, isConnected := claims[c.Namespace]
		if !isConnected && !(sharedrouter.Wanted(hc) && hc.DeletionTimestamp.IsZero()) {
			continue
		}
		c.claimed = claimed
		known, err := r.findControlPlane(ctx, &c)
		if err != nil {
			return err
		}
		if !known { // it has its endpoints for the time when there is a control plane again
			c = cluster{hc: hc, Cluster: sharedrouter.Cluster{Namespace: c.Namespace}}
		}
		s.clusters = append(s.clusters, c)
	}
	slices.SortFunc(s.clusters, func(a, b cluster) int {
		if index.Older(a.hc, b.hc) {
			return -1
		}
		return 1
	})
	current := &corev1.ConfigMap{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: sharedrouter.Public}, current); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting the configuration: %w", err)
	}
	s.previous = sharedrouter.Owners(current.Data)
	return nil
}

// served returns the hosts and the networks of clients of a cluster.
func served(hc *hyperv1.HostedCluster) sharedrouter.Cluster {
	c := sharedrouter.Cluster{
		Namespace:           names.ControlPlaneNamespace(hc.Namespace, hc.Name),
		PrivateAPI:          []string{names.LocalAPI(hc.Name)},
		PrivateKonnectivity: []string{names.LocalApp(hc.Name, names.KonnectivityServer)},
	}
	if hc.Spec.Networking.APIServer != nil {
		for _, block := range hc.Spec.Networking.APIServer.AllowedCIDRBlocks {
			if network, err := netip.ParsePrefix(strings.TrimSpace(string(block))); err == nil {
				c.Allowed = append(c.Allowed, network)
			}
		}
	}
	// A spec that cannot be read completely may lack networks of clients.
	closed := hc.Unreadable() != "" || hc.Spec.Networking.APIServer != nil && len(c.Allowed) < len(hc.Spec.Networking.APIServer.AllowedCIDRBlocks)
	api := hyperv1.PublishingOf(routes.WithHosts(hc.Name, &hc.Spec, false), hyperv1.APIServer)
	if host := api.Hostname(); api.Type == hyperv1.Route && host != "" {
		// Clients in the VPC of the nodes use it as well.
		c.PrivateAPI = append(c.PrivateAPI, host)
		if !closed && hc.Spec.Platform.AWS != nil && hc.Spec.Platform.AWS.EndpointAccess != hyperv1.Private {
			c.PublicHosts = []string{host}
		}
	}
	return c
}

// findControlPlane finds the addresses of the control plane of a cluster. It reports false if there is none yet, or if the namespace belongs to
// another HostedCluster: two names of namespaces and clusters can result in one.
func (r *Reconciler) findControlPlane(ctx context.Context, c *cluster) (bool, error) {
	ns := &corev1.Namespace{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: c.Namespace}, ns); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("getting namespace %s: %w", c.Namespace, err)
	}
	if ns.Labels[hyperv1.HostedClusterUIDLabel] != string(c.hc.UID) {
		return false, nil
	}
	for name, at := range map[string]*netip.AddrPort{names.KubeAPIServer: &c.API, names.KonnectivityServer: &c.Konnectivity} {
		svc := &corev1.Service{}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, svc); client.IgnoreNotFound(err) != nil {
			return false, fmt.Errorf("getting Service %s in namespace %s: %w", name, c.Namespace, err)
		}
		address, err := netip.ParseAddr(svc.Spec.ClusterIP)
		if err == nil && len(svc.Spec.Ports) > 0 {
			*at = netip.AddrPortFrom(address, uint16(svc.Spec.Ports[0].Port)) //nolint:gosec // the API server accepts ports up to 65535
		}
	}
	return c.API.IsValid(), nil
}

// applyConfiguration applies the ConfigMap. It is deleted with the Service.
func (r *Reconciler) applyConfiguration(ctx context.Context, s *scope) error {
	table := sharedrouter.Table{Limits: r.Limits, Sources: r.Sources}
	for _, c := range s.clusters {
		table.Clusters = append(table.Clusters, c.Cluster)
	}
	data, omitted := table.Data()
	r.reportOmitted(s, omitted)
	s.config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: sharedrouter.Public}, Data: data}
	set := apply.Set{Name: Set, Namespace: r.Namespace, Kinds: []client.ObjectList{&corev1.ConfigMapList{}}, Parent: s.service}
	var err error
	s.changed, err = r.apply.Apply(ctx, set, s.config)
	if err != nil {
		r.synced = false // it may have been written
	}
	return err
}

// reportOmitted records an event of each cluster that does not fit any more.
func (r *Reconciler) reportOmitted(s *scope, omitted []string) {
	for _, c := range s.clusters {
		if slices.Contains(omitted, c.Namespace) && !slices.Contains(r.omitted, c.Namespace) {
			r.Recorder.Eventf(c.hc, nil, "Warning", "SharedRouterFull", "Reconcile",
				"The shared router does not serve users of the cluster, because its configuration has no more space: list fewer networks in spec.networking.apiServer.allowedCIDRBlocks, or remove annotation %s", hyperv1.SharedRouterAnnotation)
		}
	}
	r.omitted = omitted
}

// annotatePods makes the kubelets of the router read a configuration that has changed, or that this process has not seen them read.
func (r *Reconciler) annotatePods(ctx context.Context, s *scope) error {
	if r.synced && !s.changed {
		return nil
	}
	r.synced = false
	live, pods := &corev1.ConfigMap{}, &corev1.PodList{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(s.config), live); err != nil {
		return fmt.Errorf("getting the configuration: %w", err)
	}
	if err := r.Reader.List(ctx, pods, client.InNamespace(r.Namespace), client.MatchingLabels{"app": sharedrouter.Public}); err != nil {
		return fmt.Errorf("listing the pods of the shared router: %w", err)
	}
	err := haproxy.SyncPods(ctx, r.Client, pods.Items, live.ResourceVersion)
	r.synced = err == nil
	return err
}
