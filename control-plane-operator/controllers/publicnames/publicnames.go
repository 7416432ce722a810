// Package publicnames checks the host names in spec.services by DNS, and reports the result in the condition
// ExternalDNSReachable.
//
//	Services with a host name for external-dns ─┐
//	Routes with a host name ────────────────────┴► look up the name and its load balancer ─► common addresses
//
//	True     each name leads to its load balancer, or in a private cluster to its endpoint
//	False    a name does not exist or leads elsewhere, or there is no load balancer yet
//	Unknown  there are no names, DNS does not answer, or a private name may exist only in the VPC of the nodes
//
// An Unknown result does not change a True condition.
package publicnames

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/publishing"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// Options configure a Reconciler.
type Options struct {
	Client client.Client
	// Status writes the status of the HostedControlPlane.
	Status *controlplanestatus.Store
	Clock  clock.PassiveClock
	// Lookup returns the addresses of a host name; nil for a lookup by the resolver of this process.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

const (
	// interval is how often names are looked up that lead to their load balancers, and retryAfter how often others.
	interval, retryAfter = 5 * time.Minute, 20 * time.Second
	// registration is how long a new record may take: external-dns writes it within seconds, and Route 53 serves it within a
	// minute. Resolvers remember for up to 15 minutes that a name does not exist. An earlier lookup would make them do so.
	registration = time.Minute
	// lookupTimeout is the timeout of one lookup. All run at the same time.
	lookupTimeout = 5 * time.Second
)

// Reconciler checks the names of a control plane.
type Reconciler struct {
	Options
	// since are the times at which the targets of names became known. One reconcile runs at a time.
	since map[name]time.Time
}

// Controller reconciles HostedControlPlanes.
type Controller = reconcile.Controller[*hyperv1.HostedControlPlane, *scope]

// scope holds the facts of one reconcile.
type scope struct {
	hcp   *hyperv1.HostedControlPlane
	names []name
}

// New returns the controller.
func New(opts Options) *Controller {
	if opts.Lookup == nil {
		opts.Lookup = lookup
	}
	r := &Reconciler{Options: opts, since: map[name]time.Time{}}
	steps := []reconcile.Step[*scope]{{Name: "host names", Condition: hyperv1.ExternalDNSReachable, Run: r.checkNames}}
	return &Controller{
		Name: "publicnames", Client: opts.Client, Clock: opts.Clock,
		Scope: r.scope,
		Phase: func(*scope) []reconcile.Step[*scope] { return steps },
		Store: opts.Status, Conditions: []string{hyperv1.ExternalDNSReachable},
		Spacing: reconcile.DefaultSpacing,
		Status: func(s *scope, _ reconcile.Report, conditions *reconcile.Conditions) {
			if len(s.names) == 0 {
				conditions.Set(hyperv1.ExternalDNSReachable, metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "spec.services has no host names")
			}
		},
		Resync: func(s *scope) time.Duration {
			if len(s.names) == 0 {
				return 0
			}
			return interval
		},
	}
}

// Setup starts the controller with the manager.
func Setup(mgr ctrl.Manager, opts Options) error {
	c := New(opts)
	return c.Builder(mgr).
		For(&hyperv1.HostedControlPlane{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.Service{}).
		Owns(&routev1.Route{}).
		Complete(c)
}

func (r *Reconciler) scope(ctx context.Context, hcp *hyperv1.HostedControlPlane, _ *reconcile.Writer[*hyperv1.HostedControlPlane]) (*scope, error) {
	if hcp.Unreadable() != "" || !hcp.DeletionTimestamp.IsZero() || target.DropsLoadBalancers(hcp) {
		return nil, reconcile.Skip(0)
	}
	services, routes := &corev1.ServiceList{}, &routev1.RouteList{}
	if err := r.Client.List(ctx, services, client.InNamespace(hcp.Namespace)); err != nil {
		return nil, fmt.Errorf("listing Services: %w", err)
	}
	if err := r.Client.List(ctx, routes, client.InNamespace(hcp.Namespace)); err != nil {
		return nil, fmt.Errorf("listing Routes: %w", err)
	}
	return &scope{hcp: hcp, names: namesOf(services.Items, routes.Items)}, nil
}

// name is a host name that external-dns, or the user, registers.
type name struct {
	host string
	// target is the host name or address of the load balancer or endpoint that the host name must lead to; empty if it does
	// not exist yet. object is the object that publishes it.
	target, object string
	// private is true if the name may exist only in the VPC of the nodes.
	private bool
}

// namesOf returns the host names of a control plane, sorted. A private Route has its host name for external-dns in a
// Service, because its target is the endpoint.
func namesOf(services []corev1.Service, routes []routev1.Route) []name {
	found := map[string]name{}
	for i := range services {
		svc := &services[i]
		n := name{host: svc.Annotations[hyperv1.ExternalDNSHostnameAnnotation], object: "Service " + svc.Name}
		if n.private = svc.Spec.Type == corev1.ServiceTypeExternalName; n.private {
			n.target = svc.Spec.ExternalName
		} else {
			n.target = publishing.LoadBalancerAddress(svc)
		}
		found[n.host] = n
	}
	for _, route := range routes {
		if route.Labels[hyperv1.InternalRouteLabel] == "true" {
			continue
		}
		n := name{host: route.Spec.Host, object: "Route " + route.Name}
		for _, in := range route.Status.Ingress {
			n.target = cmp.Or(n.target, in.RouterCanonicalHostname)
		}
		found[n.host] = n
	}
	delete(found, "")
	return slices.SortedFunc(maps.Values(found), func(a, b name) int { return cmp.Compare(a.host, b.host) })
}

// checkNames looks all names up. It reports a wrong name rather than a name that could not be checked.
func (r *Reconciler) checkNames(ctx context.Context, s *scope) error {
	maps.DeleteFunc(r.since, func(n name, _ time.Time) bool { return !slices.Contains(s.names, n) })
	findings := make([]finding, len(s.names))
	var wg sync.WaitGroup
	for i, n := range s.names {
		if n.target == "" {
			findings[i] = finding{wrong, hyperv1.WaitingOnInfrastructureReason, fmt.Sprintf("%s, which %s publishes, has no load balancer yet", n.host, n.object)}
			continue
		}
		if _, exists := r.since[n]; !exists {
			r.since[n] = r.Clock.Now()
		}
		if r.Clock.Since(r.since[n]) < registration {
			findings[i] = finding{unknown, hyperv1.WaitingForReason, fmt.Sprintf("waiting for the record of %s, which should lead to %s", n.host, n.target)}
			continue
		}
		wg.Go(func() { findings[i] = r.check(ctx, n) })
	}
	wg.Wait()
	return outcome(findings)
}

// finding is the result for one name.
type finding struct {
	state
	reason, message string
}

// state is how well a name works, from best to worst.
type state int

const (
	leads state = iota
	unknown
	wrong
)

// check looks up a name and its target.
func (r *Reconciler) check(ctx context.Context, n name) finding {
	want, err := r.addresses(ctx, n.target)
	if err != nil {
		return finding{unknown, hyperv1.StatusUnknownReason, fmt.Sprintf("%s, to which %s should lead, has no addresses: %s", n.target, n.host, cause(err))}
	}
	got, err := r.addresses(ctx, n.host)
	absent := &net.DNSError{}
	switch {
	case err == nil && slices.ContainsFunc(got, func(a netip.Addr) bool { return slices.Contains(want, a) }):
		return finding{}
	case err == nil:
		return finding{wrong, hyperv1.ExternalDNSHostNotReachableReason, fmt.Sprintf(
			"%s has the addresses %s, not those of %s (%s): change its DNS record", n.host, join(got), n.target, join(want))}
	case !errors.As(err, &absent) || !absent.IsNotFound:
		return finding{unknown, hyperv1.StatusUnknownReason, fmt.Sprintf("%s could not be looked up: %s", n.host, cause(err))}
	case n.private:
		return finding{unknown, hyperv1.StatusUnknownReason, fmt.Sprintf(
			"%s does not exist for the management cluster; in the VPC of the nodes it must lead to %s", n.host, n.target)}
	}
	return finding{wrong, hyperv1.ExternalDNSHostNotReachableReason, fmt.Sprintf(
		"%s does not exist: check external-dns, or create a CNAME or alias record that leads to %s", n.host, n.target)}
}

// addresses returns the addresses of a host name, sorted, or an address itself.
func (r *Reconciler) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if address, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{address}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := r.Lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i] = found[i].Unmap()
	}
	slices.SortFunc(found, netip.Addr.Compare)
	return slices.Compact(found), nil
}

// lookup asks DNS for exactly this name: with the search list of a pod, one name would be five.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", strings.TrimSuffix(host, ".")+".")
}

// cause is an error without the address of the DNS server, which differs between attempts.
func cause(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &dns) && dns.IsTimeout:
		return fmt.Sprintf("DNS does not answer within %s", lookupTimeout)
	case dns != nil:
		return dns.Err
	}
	return err.Error()
}

func join(addresses []netip.Addr) string {
	var all []string
	for _, a := range addresses {
		all = append(all, a.String())
	}
	return strings.Join(all, ", ")
}

// outcome reports all findings of the worst state.
func outcome(findings []finding) error {
	worst, reason := leads, ""
	var messages []string
	for _, f := range findings {
		if f.state > worst {
			worst, reason, messages = f.state, f.reason, nil
		}
		if f.state == worst {
			messages = append(messages, f.message)
		}
	}
	requeueAfter, message := reconcile.Jitter(retryAfter), strings.Join(messages, "; ")
	switch worst {
	case leads:
		return nil
	case unknown:
		return reconcile.Unknown(requeueAfter, reason, "%s", message)
	default:
		return reconcile.Wait(requeueAfter, reason, "%s", message)
	}
}
