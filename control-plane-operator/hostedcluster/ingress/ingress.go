// Package ingress prepares a hosted cluster for its ingress controller, and observes it:
//
//	CRDs of the Gateway API, GatewayClass     before the pods, which read them
//	Deployment, Service                       package traefik applies them
//	condition IngressAvailable                from the pods, and from the load balancer of the Service
//
// CRDs that users have installed stay as they are.
package ingress

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	operatorv1 "github.com/openshift/api/operator/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/config/gatewayapi"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/traefik"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Facts are the facts about the ingress controller.
type Facts struct {
	// Release is the version of the release, and HasImage is true if it contains the image of the ingress controller.
	Release  string
	HasImage bool
	// Ready is the number of ready pods.
	Ready int32
	// LoadBalancer is the host name or address of the load balancer, or "".
	LoadBalancer string
}

// Ensure applies the objects that the ingress controller needs before it starts, and observes it.
func Ensure(ctx context.Context, b *objects.Builder) (f Facts, err error) {
	payload, err := b.Release(ctx)
	if err != nil {
		return f, err
	}
	if f.Release, f.HasImage = payload.Version, payload.Components[names.Traefik] != ""; !f.HasImage {
		return f, nil
	}
	for _, set := range sets {
		if err := b.Ensure(ctx, set); err != nil && !isNotServed(err) {
			return f, err
		}
	}
	return f, f.observe(ctx, b)
}

// isNotServed reports whether the API server does not serve the kind yet.
func isNotServed(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// Gone reports whether the Services of an ingress controller that was removed are gone, and with them their load balancers.
func Gone(ctx context.Context, hosted client.Reader) (bool, error) {
	services, err := traefik.Services(ctx, hosted)
	return len(services) == 0, err
}

// observe reads the pods and the load balancer.
func (f *Facts) observe(ctx context.Context, b *objects.Builder) error {
	pods, svc := &appsv1.Deployment{}, &corev1.Service{}
	read := func(name string, obj client.Object) error {
		err := b.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: name}, obj)
		return client.IgnoreNotFound(err)
	}
	if err := errors.Join(read(names.Traefik, pods), read(traefik.ServiceName(b.HCP.IngressPublishing()), svc)); err != nil {
		return fmt.Errorf("reading the ingress controller: %w", err)
	}
	f.Ready = pods.Status.ReadyReplicas
	if svc.UID == "" || !svc.DeletionTimestamp.IsZero() { // it exists again soon after it is gone
		objects.Forget(b.Cluster, names.Traefik)
		return nil
	}
	for _, in := range svc.Status.LoadBalancer.Ingress {
		f.LoadBalancer = cmp.Or(f.LoadBalancer, in.Hostname, in.IP)
	}
	return nil
}

// Status returns the status of the HostedControlPlane.
func (f Facts) Status() *hyperv1.IngressStatus {
	return &hyperv1.IngressStatus{LoadBalancer: f.LoadBalancer}
}

// Condition returns the status, the reason and the message of the condition IngressAvailable.
func (f Facts) Condition(hcp *hyperv1.HostedControlPlane) metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	publishing := hcp.IngressPublishing()
	balanced := publishing.Type == operatorv1.LoadBalancerServiceStrategyType
	switch {
	case !f.HasImage:
		return is(metav1.ConditionFalse, hyperv1.NoIngressInReleaseReason, "release %s has no image %s", f.Release, names.Traefik)
	case f.Ready == 0 && ptr.Deref(hcp.Status.NodeCount, 0) == 0:
		return is(metav1.ConditionUnknown, hyperv1.NoNodesReason, "the ingress controller runs on nodes, and the cluster has none")
	case f.Ready == 0:
		return is(metav1.ConditionFalse, hyperv1.IngressNotRunningReason, "no pod of Deployment kube-system/%s of the hosted cluster is ready", names.Traefik)
	case balanced && f.LoadBalancer == "":
		return is(metav1.ConditionFalse, hyperv1.WaitingForLoadBalancerReason, "Service kube-system/%s of the hosted cluster has no load balancer yet", traefik.ServiceName(publishing))
	case balanced:
		return is(metav1.ConditionTrue, hyperv1.AsExpectedReason, "%s serves applications", f.LoadBalancer)
	}
	return is(metav1.ConditionTrue, hyperv1.AsExpectedReason, "Service kube-system/%s of the hosted cluster, of type %s, serves applications", names.Traefik, publishing.Type)
}

// sets are applied one after the other. CRDs and class are not deleted with the capability: users may have objects of these kinds.
var sets = func() (all []objects.Set) {
	for _, name := range gatewayapi.Names() {
		all = append(all, objects.Set{
			Name: "gateway-api-" + name, Constant: true, LeavesForeign: true,
			Desired: func(context.Context, *objects.Builder) ([]client.Object, error) {
				crd, err := gatewayapi.CRD(name)
				return []client.Object{crd}, err
			},
		})
	}
	return append(all, objects.Set{
		Name: "gateway-class", Constant: true, LeavesForeign: true,
		Desired: func(context.Context, *objects.Builder) ([]client.Object, error) {
			return []client.Object{gatewayClass()}, nil
		},
	})
}()

// gatewayClass is the class of Gateways that Traefik serves. It sets the status of the classes with its name as a controller.
func gatewayClass() *unstructured.Unstructured {
	class := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"controllerName": "traefik.io/gateway-controller"}}}
	class.SetGroupVersionKind(schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "GatewayClass"})
	class.SetName(names.Traefik)
	return class
}
