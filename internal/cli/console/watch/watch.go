// Package watch keeps the objects of all hosted clusters of a management cluster in memory, from watches with the rights of the user. It never
// reads Secrets.
package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/timeline"
	"github.com/hosted-control-planes/hypershift/internal/dedup"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	// probeInterval is how often the API server is asked whether it responds, and probeTimeout how long it may take.
	probeInterval = 3 * time.Second
	probeTimeout  = 3 * time.Second
	// accessInterval is how often kinds that could not be listed are tried again.
	accessInterval = 30 * time.Second
	// watchErrorAge is how long an error of a watch is reported: longer than a reflector's longest back-off.
	watchErrorAge = 45 * time.Second
	// warningAge is how long the latest warning about a Service is kept before it is read again.
	warningAge  = 5 * time.Second
	maxWarnings = 1000
)

// byCluster is the index of NodePools by the name of their cluster.
const byCluster = "spec.clusterName"

// Options configure a Store.
type Options struct {
	// Namespace restricts the store to the HostedClusters of a namespace; "": all namespaces. The objects of control planes are in other
	// namespaces, and are left out then.
	Namespace string
	Clock     clock.WithTicker
}

// kind is one watched kind.
type kind struct {
	name   string
	object client.Object
	list   client.ObjectList
	// own: the objects are in the namespace of the HostedCluster.
	own bool
}

func kinds() []kind {
	return []kind{
		{"HostedCluster", &hyperv1.HostedCluster{}, &hyperv1.HostedClusterList{}, true},
		{"NodePool", &hyperv1.NodePool{}, &hyperv1.NodePoolList{}, true},
		{"Event", &corev1.Event{}, &corev1.EventList{}, true},
		{"HostedControlPlane", &hyperv1.HostedControlPlane{}, &hyperv1.HostedControlPlaneList{}, false},
		{"ControlPlaneComponent", &hyperv1.ControlPlaneComponent{}, &hyperv1.ControlPlaneComponentList{}, false},
		{"AWSEndpointService", &hyperv1.AWSEndpointService{}, &hyperv1.AWSEndpointServiceList{}, false},
		{"HCPEtcdBackup", &hyperv1.HCPEtcdBackup{}, &hyperv1.HCPEtcdBackupList{}, false},
		{"Service", &corev1.Service{}, &corev1.ServiceList{}, false},
		{"Machine", &clusterv1.Machine{}, &clusterv1.MachineList{}, false},
		{"AWSMachine", &infrav1.AWSMachine{}, &infrav1.AWSMachineList{}, false},
	}
}

// Store is the state of all hosted clusters. It is safe for concurrent use.
type Store struct {
	Broadcaster
	recorder *timeline.Recorder

	clock     clock.WithTicker
	namespace string
	cache     cache.Cache
	live      client.Client
	version   rest.Interface

	mu         sync.Mutex
	planes     map[string]types.NamespacedName // control plane namespaces
	unreadable map[string]error
	watched    map[string]bool
	reached    time.Time
	probeErr   error
	watchErrs  map[string]watchError
	warnings   map[types.UID]warning
}

type watchError struct {
	at  time.Time
	err error
}

type warning struct {
	at   time.Time
	text string
}

// Start connects with config, starts the watches, and returns when the HostedClusters are in memory. The watches end with ctx. It returns an
// error if HostedClusters cannot be listed.
func Start(ctx context.Context, config *rest.Config, o Options) (_ *Store, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel() // the watches that have begun
		}
	}()
	s := &Store{
		recorder: timeline.NewRecorder(), clock: o.Clock, namespace: o.Namespace,
		planes: map[string]types.NamespacedName{}, unreadable: map[string]error{},
		watched: map[string]bool{}, watchErrs: map[string]watchError{}, warnings: map[types.UID]warning{},
	}
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	s.version = server.RESTClient()
	if s.live, err = client.New(config, client.Options{Scheme: clustertree.Scheme()}); err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	if s.cache, err = cache.New(config, s.cacheOptions()); err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	err = s.cache.IndexField(ctx, &hyperv1.NodePool{}, byCluster, func(obj client.Object) []string { return []string{obj.(*hyperv1.NodePool).Spec.ClusterName} })
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("watching the management cluster: %w", err)
	}
	go func() { _ = s.cache.Start(ctx) }() // it ends with ctx
	if err := s.watchAll(ctx); err != nil {
		return nil, err
	}
	s.probe(ctx)
	go s.run(ctx)
	return s, nil
}

func (s *Store) cacheOptions() cache.Options {
	shared := dedup.NewShared()
	o := cache.Options{
		Scheme: clustertree.Scheme(), ReaderFailOnMissingInformer: true,
		DefaultTransform: func(obj any) (any, error) {
			if o, err := meta.Accessor(obj); err == nil {
				o.SetManagedFields(nil)
			}
			return shared.Transform(obj)
		},
		// Everything that reads from the store only reads.
		DefaultUnsafeDisableDeepCopy: new(bool),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Event{}:   {Field: fields.OneTermEqualSelector("involvedObject.apiVersion", hyperv1.GroupVersion.String())},
			&corev1.Service{}: {Field: fields.OneTermNotEqualSelector("spec.type", string(corev1.ServiceTypeClusterIP))},
		},
		DefaultWatchErrorHandler: func(_ context.Context, r *toolscache.Reflector, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.watchErrs[r.TypeDescription()] = watchError{s.clock.Now(), err}
		},
	}
	*o.DefaultUnsafeDisableDeepCopy = true
	if s.namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{s.namespace: {}}
	}
	return o
}

// watchAll starts the watches of all kinds that the user may list, and waits until their objects are in memory.
func (s *Store) watchAll(ctx context.Context) error {
	var syncs []toolscache.InformerSynced
	for _, k := range kinds() {
		s.mu.Lock()
		watched := s.watched[k.name]
		s.mu.Unlock()
		if watched || s.namespace != "" && !k.own {
			continue
		}
		options := []client.ListOption{client.Limit(1), client.InNamespace(s.namespace)}
		err := s.live.List(ctx, k.list, options...)
		switch {
		case err == nil:
		case k.name == "HostedCluster" && meta.IsNoMatchError(err):
			return fmt.Errorf("this cluster does not serve HostedClusters: check --kubeconfig and --context, or install the operator: %w", err)
		case k.name == "HostedCluster" && apierrors.IsForbidden(err) && s.namespace == "":
			return &ForbiddenError{err}
		case k.name == "HostedCluster", ctx.Err() != nil:
			return fmt.Errorf("listing %ss: %w", k.name, err)
		default:
			s.mu.Lock()
			s.unreadable[k.name] = err
			s.mu.Unlock()
			continue
		}
		informer, err := s.cache.GetInformer(ctx, k.object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %ss: %w", k.name, err)
		}
		registration, err := informer.AddEventHandler(s.handler(k))
		if err != nil {
			return fmt.Errorf("watching %ss: %w", k.name, err)
		}
		s.mu.Lock()
		s.watched[k.name] = true
		delete(s.unreadable, k.name)
		s.mu.Unlock()
		syncs = append(syncs, registration.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), syncs...) {
		return fmt.Errorf("reading the objects of the management cluster: %w", ctx.Err())
	}
	return nil
}

// ForbiddenError is returned if the user may not list the HostedClusters of all namespaces.
type ForbiddenError struct{ error }

func (e *ForbiddenError) Unwrap() error { return e.error }

func (s *Store) handler(k kind) toolscache.ResourceEventHandler {
	changed := func(obj any) {
		if o, ok := obj.(client.Object); ok {
			s.observe(k.name, o)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, obj any) { changed(obj) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			o, ok := obj.(client.Object)
			if !ok {
				return
			}
			if k.name == "HostedCluster" {
				s.forget(client.ObjectKeyFromObject(o))
			}
			if key, exists := s.clusterOf(o); exists {
				s.recorder.Remove(key, k.name, o.GetName())
				s.Notify(key)
			}
		},
	}
}

func (s *Store) forget(key types.NamespacedName) {
	s.recorder.Forget(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.planes, names.ControlPlaneNamespace(key.Namespace, key.Name))
}

func (s *Store) observe(kind string, o client.Object) {
	if kind == "HostedCluster" {
		s.mu.Lock()
		s.planes[names.ControlPlaneNamespace(o.GetNamespace(), o.GetName())] = client.ObjectKeyFromObject(o)
		s.mu.Unlock()
	}
	key, exists := s.clusterOf(o)
	if !exists {
		return
	}
	if conditions := conditionsOf(o); conditions != nil {
		s.recorder.Observe(key, kind, o.GetName(), conditions, s.clock.Now())
	}
	s.Notify(key)
}

// conditionsOf returns the conditions of objects that have a lane in the timeline.
func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *hyperv1.HostedCluster:
		return o.Status.Conditions
	case *hyperv1.NodePool:
		return o.GetConditions()
	case *hyperv1.AWSEndpointService:
		return o.Status.Conditions
	case *hyperv1.ControlPlaneComponent:
		return o.Status.Conditions
	}
	return nil
}

// clusterOf returns the HostedCluster that an object belongs to.
func (s *Store) clusterOf(o client.Object) (types.NamespacedName, bool) {
	switch o := o.(type) {
	case *hyperv1.HostedCluster:
		return client.ObjectKeyFromObject(o), true
	case *hyperv1.NodePool:
		return types.NamespacedName{Namespace: o.Namespace, Name: o.Spec.ClusterName}, true
	case *corev1.Event:
		key := types.NamespacedName{Namespace: o.InvolvedObject.Namespace, Name: o.InvolvedObject.Name}
		switch o.InvolvedObject.Kind {
		case "HostedCluster":
			return key, true
		case "NodePool":
			np := &hyperv1.NodePool{}
			if err := s.cache.Get(context.Background(), key, np); err != nil {
				return key, false
			}
			return types.NamespacedName{Namespace: np.Namespace, Name: np.Spec.ClusterName}, true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key, exists := s.planes[o.GetNamespace()]
	return key, exists
}

// run probes the API server, and starts the watches of kinds that could not be listed before.
func (s *Store) run(ctx context.Context) {
	probes, access := s.clock.NewTicker(probeInterval), s.clock.NewTicker(accessInterval)
	defer probes.Stop()
	defer access.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-probes.C():
			s.probe(ctx)
		case <-access.C():
			_ = s.watchAll(ctx) // kinds that cannot be listed are in Health
		}
	}
}

func (s *Store) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	// Every authenticated user may read the version: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles
	err := s.version.Get().AbsPath("/version").Do(ctx).Error()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.probeErr = err; err == nil {
		s.reached = s.clock.Now()
	}
}

// Health is how current the store is.
type Health struct {
	// Reached is when the API server responded last.
	Reached time.Time
	// Err is why it does not respond, or why a watch fails; nil: everything is current.
	Err error
	// Unreadable are the kinds that the user cannot list, with the error.
	Unreadable map[string]error
	// Namespace is the only namespace of HostedClusters; "": all.
	Namespace string
}

// Health returns how current the store is.
func (s *Store) Health() Health {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := Health{Reached: s.reached, Err: s.probeErr, Unreadable: maps.Clone(s.unreadable), Namespace: s.namespace}
	for name, e := range s.watchErrs {
		if s.clock.Since(e.at) < watchErrorAge && h.Err == nil && !errors.Is(e.err, context.Canceled) && !apierrors.IsResourceExpired(e.err) {
			h.Err = fmt.Errorf("watching %s: %w", name, e.err)
		}
	}
	return h
}

// Lanes returns the recorded transitions of a cluster's conditions.
func (s *Store) Lanes(cluster types.NamespacedName) []timeline.Lane { return s.recorder.Lanes(cluster) }

// Keys returns the HostedClusters in the order of their names.
func (s *Store) Keys(ctx context.Context) ([]types.NamespacedName, error) {
	list := &hyperv1.HostedClusterList{}
	if err := s.cache.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing HostedClusters: %w", err)
	}
	keys := make([]types.NamespacedName, 0, len(list.Items))
	for i := range list.Items {
		keys = append(keys, client.ObjectKeyFromObject(&list.Items[i]))
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return keys, nil
}

// Cluster is what the store has about a HostedCluster. Its objects must not be changed.
type Cluster struct {
	*clustertree.Objects
	Backups []hyperv1.HCPEtcdBackup
	// Events are the events of the HostedCluster and its NodePools, oldest first.
	Events []corev1.Event
}

// Cluster returns a HostedCluster, or nil if it does not exist.
func (s *Store) Cluster(ctx context.Context, key types.NamespacedName) (*Cluster, error) {
	if s.namespace != "" && key.Namespace != s.namespace {
		return nil, nil
	}
	hc := &hyperv1.HostedCluster{}
	err := s.cache.Get(ctx, key, hc)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading HostedCluster %s: %w", key, err)
	}
	o := &clustertree.Objects{HostedCluster: hc, Warnings: map[string]string{}, Unreadable: s.Health().Unreadable}
	c := &Cluster{Objects: o}
	plane := names.ControlPlaneNamespace(key.Namespace, key.Name)
	var planes hyperv1.HostedControlPlaneList
	var components hyperv1.ControlPlaneComponentList
	var endpoints hyperv1.AWSEndpointServiceList
	var backups hyperv1.HCPEtcdBackupList
	var services corev1.ServiceList
	var pools hyperv1.NodePoolList
	var machines clusterv1.MachineList
	var awsMachines infrav1.AWSMachineList
	s.list(ctx, "NodePool", &pools, client.InNamespace(key.Namespace), client.MatchingFields{byCluster: key.Name})
	if s.namespace == "" {
		s.list(ctx, "HostedControlPlane", &planes, client.InNamespace(plane))
		s.list(ctx, "ControlPlaneComponent", &components, client.InNamespace(plane))
		s.list(ctx, "AWSEndpointService", &endpoints, client.InNamespace(plane))
		s.list(ctx, "HCPEtcdBackup", &backups, client.InNamespace(plane))
		s.list(ctx, "Service", &services, client.InNamespace(plane))
		s.list(ctx, "Machine", &machines, client.InNamespace(plane))
		s.list(ctx, "AWSMachine", &awsMachines, client.InNamespace(plane))
	}
	if len(planes.Items) > 0 {
		o.HostedControlPlane = &planes.Items[0]
	}
	o.Components, o.EndpointServices, o.NodePools, o.Machines, o.AWSMachines = components.Items, endpoints.Items, pools.Items, machines.Items, awsMachines.Items
	for i := range services.Items {
		if svc := &services.Items[i]; svc.Spec.Type == corev1.ServiceTypeLoadBalancer || svc.Spec.Type == corev1.ServiceTypeNodePort {
			o.Services = append(o.Services, *svc)
		}
	}
	o.Sort()
	c.Backups = backups.Items
	return c, nil
}

// list reads from memory. A kind that is not watched is in Health, and has no objects.
func (s *Store) list(ctx context.Context, kind string, into client.ObjectList, options ...client.ListOption) {
	s.mu.Lock()
	watched := s.watched[kind]
	s.mu.Unlock()
	if watched {
		_ = s.cache.List(ctx, into, options...) // from memory
	}
}

// Detailed is Cluster with its events, and with the latest warnings about Services without a load balancer, which it reads from the API server.
func (s *Store) Detailed(ctx context.Context, key types.NamespacedName) (*Cluster, error) {
	c, err := s.Cluster(ctx, key)
	if c == nil || err != nil {
		return c, err
	}
	for i := range c.Services {
		svc := &c.Services[i]
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer && len(svc.Status.LoadBalancer.Ingress) == 0 {
			if text := s.warning(ctx, svc); text != "" {
				c.Warnings[svc.Name] = text
			}
		}
	}
	pools := map[string]bool{}
	for i := range c.NodePools {
		pools[c.NodePools[i].Name] = true
	}
	var list corev1.EventList
	s.list(ctx, "Event", &list, client.InNamespace(key.Namespace))
	for i := range list.Items {
		o := list.Items[i].InvolvedObject
		if o.Kind == "HostedCluster" && o.Name == key.Name || o.Kind == "NodePool" && pools[o.Name] {
			c.Events = append(c.Events, list.Items[i])
		}
	}
	slices.SortFunc(c.Events, func(a, b corev1.Event) int { return EventTime(&a).Compare(EventTime(&b)) })
	return c, nil
}

// EventTime returns when an event happened last.
func EventTime(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

func (s *Store) warning(ctx context.Context, svc *corev1.Service) string {
	s.mu.Lock()
	cached := s.warnings[svc.UID]
	s.mu.Unlock()
	if s.clock.Since(cached.at) < warningAge {
		return cached.text
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	// Without permission for events, the Service has no message.
	text, _ := events.LatestWarning(ctx, s.live, svc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.warnings) > maxWarnings {
		clear(s.warnings) // of Services that were deleted
	}
	s.warnings[svc.UID] = warning{s.clock.Now(), text}
	return text
}
