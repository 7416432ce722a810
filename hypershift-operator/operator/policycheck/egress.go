package policycheck

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// identityPort is where all of identityServices listen.
const identityPort = 80

// identityServices give the identity of a node or of a pod to whoever connects from
// there: the instance metadata, and credentials of ECS and of EKS Pod Identity.
var identityServices = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"),
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"),
}

// leaves tries connections from this pod that its policies forbid, and reports
// whether one was accepted. A failure is no evidence: there may be no such service,
// and instance metadata does not answer pods where the hop limit is 1.
func (c *Checker) leaves(ctx context.Context) (bool, error) {
	if !c.Pod.IsValid() {
		return false, nil
	}
	policies, err := c.outgoing(ctx)
	if err != nil {
		return false, err
	}
	for _, service := range identityServices {
		if service.Is4() != c.Pod.Is4() || !forbids(policies, service) {
			continue
		}
		if address := net.JoinHostPort(service.String(), fmt.Sprint(identityPort)); c.Dial(ctx, address) == nil {
			ctrl.LoggerFrom(ctx).Info("A connection that NetworkPolicies forbid was made from this pod", "operatorNamespace", c.Namespace, "address", address)
			return true, nil
		}
	}
	return false, nil
}

// outgoing returns this pod's egress policies, none if the pod or a policy is new: networks program policies after a pod has started.
func (c *Checker) outgoing(ctx context.Context) ([]networkingv1.NetworkPolicy, error) {
	var policies networkingv1.NetworkPolicyList
	if err := c.Reader.List(ctx, &policies, client.InNamespace(c.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the NetworkPolicies of namespace %s: %w", c.Namespace, err)
	}
	var pods corev1.PodList
	if err := c.Reader.List(ctx, &pods, client.InNamespace(c.Namespace)); err != nil {
		return nil, fmt.Errorf("listing the pods of namespace %s: %w", c.Namespace, err)
	}
	i := slices.IndexFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Status.PodIP == c.Pod.String() && !pod.Spec.HostNetwork })
	if i < 0 || c.Clock.Since(pods.Items[i].CreationTimestamp.Time) < settled {
		return nil, nil
	}
	var found []networkingv1.NetworkPolicy
	for _, policy := range policies.Items {
		selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
		if err != nil || !selector.Matches(labels.Set(pods.Items[i].Labels)) || !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			continue
		}
		if c.Clock.Since(policy.CreationTimestamp.Time) < settled {
			return nil, nil
		}
		found = append(found, policy)
	}
	return found, nil
}

// forbids is whether there are policies, and none of them lets a pod reach the
// service. No selector of pods or namespaces selects a link-local address.
func forbids(policies []networkingv1.NetworkPolicy, service netip.Addr) bool {
	for _, policy := range policies {
		for _, rule := range policy.Spec.Egress {
			if opens(rule.Ports) && (len(rule.To) == 0 || slices.ContainsFunc(rule.To, func(to networkingv1.NetworkPolicyPeer) bool {
				return to.IPBlock != nil && contains(to.IPBlock, service)
			})) {
				return false
			}
		}
	}
	return len(policies) > 0
}

// opens is whether identityPort is among the ports, or may be.
func opens(ports []networkingv1.NetworkPolicyPort) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		if p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP {
			return false
		}
		if p.Port == nil || p.Port.Type == intstr.String {
			return true
		}
		last := p.Port.IntVal
		if p.EndPort != nil {
			last = *p.EndPort
		}
		return p.Port.IntVal <= identityPort && identityPort <= last
	})
}

// contains reports whether the block contains the address, or cannot be read.
func contains(block *networkingv1.IPBlock, addr netip.Addr) bool {
	in := func(cidr string) bool {
		prefix, err := netip.ParsePrefix(cidr)
		return err == nil && prefix.Contains(addr)
	}
	if _, err := netip.ParsePrefix(block.CIDR); err != nil {
		return true
	}
	return in(block.CIDR) && !slices.ContainsFunc(block.Except, in)
}
