package clustertree

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/kubescheme"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
)

// Objects are the objects of a hosted cluster in the management cluster. Lists have the order of their names.
type Objects struct {
	HostedCluster      *hyperv1.HostedCluster
	HostedControlPlane *hyperv1.HostedControlPlane // nil: it does not exist
	Components         []hyperv1.ControlPlaneComponent
	EndpointServices   []hyperv1.AWSEndpointService
	Services           []corev1.Service
	NodePools          []hyperv1.NodePool
	Machines           []clusterv1.Machine
	AWSMachines        []infrav1.AWSMachine
	// Warnings are the latest warnings about Services without a load balancer, by the name of the Service.
	Warnings map[string]string
	// Unreadable are the kinds that could not be listed, with the error.
	Unreadable map[string]error
}

// Scheme has all kinds that Gather reads.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{kubescheme.AddToScheme, hyperv1.AddToScheme, clusterv1.AddToScheme, infrav1.AddToScheme} {
		utilruntime.Must(add(s))
	}
	return s
}

// NotFoundError is returned if there is no HostedCluster of that name.
type NotFoundError struct {
	Key client.ObjectKey
	// Others are the HostedClusters that exist, as namespace/name.
	Others []string
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("there is no HostedCluster %s in namespace %s", e.Key.Name, e.Key.Namespace)
	if len(e.Others) == 0 {
		return text + ", nor in another namespace"
	}
	return text + "; there are " + oneline.List(e.Others, 10)
}

// FindHostedCluster returns the HostedCluster, or a NotFoundError.
func FindHostedCluster(ctx context.Context, reader client.Reader, key client.ObjectKey) (*hyperv1.HostedCluster, error) {
	hc := &hyperv1.HostedCluster{}
	err := reader.Get(ctx, key, hc)
	if err == nil {
		return hc, nil
	}
	if meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("this cluster does not serve HostedClusters: check --kubeconfig and --context, or install the operator: %w", err)
	}
	if !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading HostedCluster %s: %w", key, err)
	}
	missing := &NotFoundError{Key: key}
	list := &hyperv1.HostedClusterList{}
	// The list only helps with a wrong name. Without permission to list all namespaces, the first error is returned.
	if err := reader.List(ctx, list); err == nil {
		for i := range list.Items {
			missing.Others = append(missing.Others, client.ObjectKeyFromObject(&list.Items[i]).String())
		}
		slices.Sort(missing.Others)
	}
	return nil, missing
}

// Gather reads the objects of a hosted cluster. A kind that cannot be listed is recorded, and the others are still read.
func Gather(ctx context.Context, reader client.Reader, key client.ObjectKey) (*Objects, error) {
	hc, err := FindHostedCluster(ctx, reader, key)
	if err != nil {
		return nil, err
	}
	o := &Objects{HostedCluster: hc, Warnings: map[string]string{}, Unreadable: map[string]error{}}
	namespace := names.ControlPlaneNamespace(hc.Namespace, hc.Name)
	planes, components, endpoints := &hyperv1.HostedControlPlaneList{}, &hyperv1.ControlPlaneComponentList{}, &hyperv1.AWSEndpointServiceList{}
	services, pools := &corev1.ServiceList{}, &hyperv1.NodePoolList{}
	machines, awsMachines := &clusterv1.MachineList{}, &infrav1.AWSMachineList{}

	var mu sync.Mutex
	var listing sync.WaitGroup
	list := func(kind, namespace string, into client.ObjectList) {
		listing.Go(func() {
			if err := reader.List(ctx, into, client.InNamespace(namespace)); err != nil {
				mu.Lock()
				defer mu.Unlock()
				o.Unreadable[kind] = err
			}
		})
	}
	list("HostedControlPlane", namespace, planes)
	list("ControlPlaneComponent", namespace, components)
	list("AWSEndpointService", namespace, endpoints)
	list("Service", namespace, services)
	list("NodePool", hc.Namespace, pools)
	list("Machine", namespace, machines)
	list("AWSMachine", namespace, awsMachines)
	listing.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading the objects of HostedCluster %s: %w", key, err)
	}

	if len(planes.Items) > 0 {
		o.HostedControlPlane = &planes.Items[0]
	}
	o.Components, o.EndpointServices = components.Items, endpoints.Items
	o.Machines, o.AWSMachines = machines.Items, awsMachines.Items
	for _, pool := range pools.Items {
		if pool.Spec.ClusterName == hc.Name {
			o.NodePools = append(o.NodePools, pool)
		}
	}
	for i := range services.Items {
		s := &services.Items[i]
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer && s.Spec.Type != corev1.ServiceTypeNodePort {
			continue
		}
		o.Services = append(o.Services, *s)
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer && len(s.Status.LoadBalancer.Ingress) == 0 {
			// Without permission for events, the row of the Service has no message.
			if warning, err := events.LatestWarning(ctx, reader, s); err == nil && warning != "" {
				o.Warnings[s.Name] = warning
			}
		}
	}
	o.Sort()
	return o, nil
}

// Sort orders all lists by name.
func (o *Objects) Sort() {
	slices.SortFunc(o.Components, func(a, b hyperv1.ControlPlaneComponent) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(o.EndpointServices, func(a, b hyperv1.AWSEndpointService) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(o.Services, func(a, b corev1.Service) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(o.NodePools, func(a, b hyperv1.NodePool) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(o.Machines, func(a, b clusterv1.Machine) int { return strings.Compare(a.Name, b.Name) })
}
