// Package policycheck determines whether the management cluster enforces
// NetworkPolicies. No API reports it, and everything works where they are not enforced, so that the
// only evidence is a connection that a policy forbids.
//
//	► a few control planes, at random
//	► a pod of each with both ports open: the kubelet's probes show it
//	► connect to the published port: the pod is reachable from here
//	► connect to the health port: no policy allows that
//
// Only both together are evidence. Egress is tested as well, from the pod of the
// operator to the services that would give it the identity of its node, where its
// policies forbid that (egress.go). An accepted connection shows that egress is not
// enforced; a failed one is no evidence.
//
// It makes a handful of connections every ten minutes, however many control planes
// there are, and needs no pod of its own.
package policycheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	// interval is how often enforcement is checked again, retry while it is unknown.
	interval = 10 * time.Minute
	retry    = 30 * time.Second
	// sample is how many control planes are tried each time.
	sample = 3
	// settled is how old a pod and its policies are before they are tried: networks
	// program policies after a pod has started.
	settled = time.Minute
	// timeout of a connection. Policies drop packets more often than they refuse.
	timeout = 3 * time.Second
)

// published are the pods with a port that is open to everybody, by the names that
// the components give; healthPort is the one for the kubelet alone.
var published = map[string]string{names.KubeAPIServer: "client", names.PrivateRouter: "https", names.Router: "https"}

const healthPort = "health"

// Options configure a Checker.
type Options struct {
	// Client reads namespaces through the cache, Reader pods and policies from the
	// API server.
	Client, Reader client.Reader
	Clock          clock.WithTicker
	// Pod is the address of this pod, in Namespace. Without it egress is not tested.
	Pod       netip.Addr
	Namespace string
	// Dial opens a connection from this pod and closes it.
	Dial func(ctx context.Context, address string) error
}

// Checker is a Runnable of the manager that leads.
type Checker struct {
	Options
	// Changed gets an event each time that the result changes.
	Changed chan event.GenericEvent

	result atomic.Value // metav1.ConditionStatus
}

// New returns a Checker without a result.
func New(o Options) *Checker {
	return &Checker{Options: o, Changed: make(chan event.GenericEvent, 1)}
}

// From dials from the address of this pod and no other: the kubelet's node gets
// through every policy.
func From(pod netip.Addr) func(context.Context, string) error {
	dialer := net.Dialer{Timeout: timeout, LocalAddr: &net.TCPAddr{IP: pod.AsSlice()}}
	return func(ctx context.Context, address string) error {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

// Enforced is True or False once a control plane could be tried, and Unknown before.
func (c *Checker) Enforced() metav1.ConditionStatus {
	if status, ok := c.result.Load().(metav1.ConditionStatus); ok {
		return status
	}
	return metav1.ConditionUnknown
}

// Start checks until ctx ends.
func (c *Checker) Start(ctx context.Context) error {
	for {
		c.update(ctx)
		wait := interval
		if c.Enforced() == metav1.ConditionUnknown {
			wait = retry
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Clock.After(wait):
		}
	}
}

// update checks once. A result stays until the next result: a check without a possible connection is no news about the network.
func (c *Checker) update(ctx context.Context) {
	status, err := c.check(ctx)
	if err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).Error(err, "Checking whether NetworkPolicies are enforced")
	}
	if err != nil || status == metav1.ConditionUnknown || status == c.Enforced() {
		return
	}
	c.result.Store(status)
	select {
	case c.Changed <- event.GenericEvent{Object: &hyperv1.HostedCluster{}}:
	default: // One event that is still in the channel wakes all clusters.
	}
}

// check tries connections from this pod and to control planes, until one shows that
// a policy is not enforced, or enough show that theirs are.
func (c *Checker) check(ctx context.Context) (metav1.ConditionStatus, error) {
	if connected, err := c.leaves(ctx); err != nil || connected {
		return metav1.ConditionFalse, err
	}
	var namespaces corev1.NamespaceList
	if err := c.Client.List(ctx, &namespaces, client.UnsafeDisableDeepCopy, client.HasLabels{hyperv1.ControlPlaneNamespaceLabel}); err != nil {
		return metav1.ConditionUnknown, fmt.Errorf("listing namespaces of control planes: %w", err)
	}
	result := metav1.ConditionUnknown
	for tried, i := range rand.Perm(len(namespaces.Items)) { //nolint:gosec // a sample, which is not secret
		if tried == sample {
			break
		}
		status, err := c.try(ctx, namespaces.Items[i].Name)
		if err != nil || status == metav1.ConditionFalse {
			return status, err
		}
		if status == metav1.ConditionTrue {
			result = status
		}
	}
	return result, nil
}

// try tries the first pod of a control plane that can be tried.
func (c *Checker) try(ctx context.Context, namespace string) (metav1.ConditionStatus, error) {
	var pods corev1.PodList
	if err := c.Reader.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: publishing()}); err != nil {
		return metav1.ConditionUnknown, fmt.Errorf("listing the pods that serve in namespace %s: %w", namespace, err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		open, closed := c.ports(pod)
		if open == "" || closed == "" || c.Dial(ctx, open) != nil {
			continue
		}
		if protected, err := c.protected(ctx, pod); err != nil || !protected {
			return metav1.ConditionUnknown, err
		}
		if c.Dial(ctx, closed) == nil {
			ctrl.LoggerFrom(ctx).Info("A connection that NetworkPolicies forbid was made", "pod", namespace+"/"+pod.Name, "address", closed)
			return metav1.ConditionFalse, nil
		}
		// The connection also fails where the program has just ended.
		if c.Dial(ctx, open) == nil {
			return metav1.ConditionTrue, nil
		}
	}
	return metav1.ConditionUnknown, nil
}

func publishing() labels.Selector {
	var apps []string
	for app := range published {
		apps = append(apps, app)
	}
	in, err := labels.NewRequirement("app", selection.In, apps)
	utilruntime.Must(err)
	return labels.NewSelector().Add(*in)
}

// ports returns the addresses of the published port and of the port for the kubelet, empty unless both listen.
func (c *Checker) ports(pod *corev1.Pod) (open, closed string) {
	if pod.Spec.HostNetwork || pod.Status.PodIP == "" || !pod.DeletionTimestamp.IsZero() || c.Clock.Since(pod.CreationTimestamp.Time) < settled || !ready(pod) {
		return "", ""
	}
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port.ContainerPort)))
			switch port.Name {
			case published[pod.Labels["app"]]:
				open = address
			case healthPort:
				closed = address
			}
		}
	}
	return open, closed
}

func ready(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// protected is whether policies about the pod are there, and have been for a while.
func (c *Checker) protected(ctx context.Context, pod *corev1.Pod) (bool, error) {
	var policies networkingv1.NetworkPolicyList
	if err := c.Reader.List(ctx, &policies, client.InNamespace(pod.Namespace)); err != nil {
		return false, fmt.Errorf("listing the NetworkPolicies of namespace %s: %w", pod.Namespace, err)
	}
	found := false
	for _, policy := range policies.Items {
		selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		for _, ingress := range policy.Spec.Ingress {
			// A policy of another owner, or of an earlier version, opens every port
			// to all clients.
			if len(ingress.From) == 0 && len(ingress.Ports) == 0 {
				return false, nil
			}
		}
		if c.Clock.Since(policy.CreationTimestamp.Time) < settled {
			return false, nil
		}
		for _, direction := range policy.Spec.PolicyTypes {
			found = found || direction == networkingv1.PolicyTypeIngress
		}
	}
	return found, nil
}
