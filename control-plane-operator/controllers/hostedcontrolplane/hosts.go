package hostedcontrolplane

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/loadbalancers"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/nlb"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// resolveHosts reads the hosts of the control plane and publishes the API's. Its message lists everything that has no
// host yet.
func (r *Reconciler) resolveHosts(ctx context.Context, s *scope) error {
	var missing []string
	moves, err := r.leavesSharedRouter(ctx, s)
	if err != nil {
		return err
	}
	for _, obj := range s.objects {
		problem, err := r.unreachable(ctx, s.access, obj)
		if err != nil {
			return err
		}
		switch {
		case problem != "" && moves:
			s.moving = append(s.moving, problem)
		case problem != "":
			missing = append(missing, problem)
		}
	}
	api, err := r.apiEndpoint(ctx, s)
	if err != nil {
		return err
	}
	if api.Host != "" {
		s.hcp.Status.ControlPlaneEndpoint = api
	}
	if len(missing) > 0 {
		// Services are watched, but their events are not.
		return reconcile.Wait(30*time.Second, hyperv1.WaitingOnInfrastructureReason, "%s", strings.Join(missing, "; "))
	}
	return nil
}

// leavesSharedRouter reports whether clients still use the shared router, until the load balancers of the control plane exist.
func (r *Reconciler) leavesSharedRouter(ctx context.Context, s *scope) (bool, error) {
	if s.access.shared || !s.access.private {
		return false, nil
	}
	es := &hyperv1.AWSEndpointService{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: sharedrouter.EndpointService}, es)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading AWSEndpointService %s: %w", sharedrouter.EndpointService, err)
	}
	return err == nil && es.DeletionTimestamp.IsZero(), nil
}

// apiEndpoint returns the API's address for clients. A private cluster without a host name is reachable only inside the
// VPC, so its name is in the local zone.
func (r *Reconciler) apiEndpoint(ctx context.Context, s *scope) (hyperv1.APIEndpoint, error) {
	switch {
	case s.access.apiRoute:
		return hyperv1.APIEndpoint{Host: cmp.Or(s.access.apiHostname, names.LocalAPI(s.hcp.Name)), Port: publishing.RouterPort}, nil
	case !s.access.public:
		return hyperv1.APIEndpoint{Host: names.LocalAPI(s.hcp.Name), Port: apiPort}, nil
	}
	at, err := publishing.ServiceAddress(ctx, r.Client, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.KubeAPIServer}, s.access.services[hyperv1.APIServer])
	return hyperv1.APIEndpoint{Host: at.Name, Port: at.Port}, err
}

// unreachable returns why clients cannot reach a Service or Route by name yet, or "".
func (r *Reconciler) unreachable(ctx context.Context, a access, obj client.Object) (string, error) {
	switch want := obj.(type) {
	case *corev1.Service:
		if want.Spec.Type == corev1.ServiceTypeLoadBalancer {
			return r.balancerProblem(ctx, a, want)
		}
	case *routev1.Route:
		return r.routeProblem(ctx, want)
	}
	return "", nil
}

func (r *Reconciler) balancerProblem(ctx context.Context, a access, want *corev1.Service) (string, error) {
	svc := want.DeepCopy()
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(want), svc); client.IgnoreNotFound(err) != nil {
		return "", err
	}
	host := publishing.LoadBalancerAddress(svc)
	if host == "" {
		const pending = "load balancer of Service %s is not provisioned yet"
		if svc.UID == "" { // the cache does not have the new Service yet
			return fmt.Sprintf(pending, svc.Name), nil
		}
		warning, err := events.LatestWarning(ctx, r.Reader, svc)
		if warning != "" {
			warning = ": " + warning
		}
		return fmt.Sprintf(pending, svc.Name) + warning, err
	}
	if a.private && want.Annotations[loadbalancers.Internal] != "" {
		if _, err := nlb.Name(host); err != nil {
			return fmt.Sprintf("load balancer of Service %s cannot be offered by PrivateLink: %v", svc.Name, err), nil
		}
	}
	return "", nil
}

func (r *Reconciler) routeProblem(ctx context.Context, want *routev1.Route) (string, error) {
	if want.Spec.Host != "" {
		return "", nil
	}
	live := &routev1.Route{}
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(want), live); err != nil {
		return "Route " + want.Name + " has no host yet", client.IgnoreNotFound(err)
	}
	if live.Spec.Host != "" || len(live.Status.Ingress) > 0 {
		return "", nil
	}
	return "Route " + want.Name + " has no host; set a hostname for it in spec.services of the HostedCluster, or dns.baseDomain", nil
}

// balancerHost returns the host of a Service's load balancer, or "".
func (r *Reconciler) balancerHost(ctx context.Context, namespace, name string) (string, error) {
	svc := &corev1.Service{}
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, svc); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return publishing.LoadBalancerAddress(svc), nil
}
