//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// The state of node pools in Kubernetes.

// nodesOf are the nodes of a pool's instances, and an error if an instance has none.
func (h *hosted) nodesOf(pool string) ([]corev1.Node, error) {
	instances, err := h.instances(pool)
	if err != nil {
		return nil, err
	}
	all := &corev1.NodeList{}
	if err := h.user().List(h.t.Context(), all); err != nil {
		return nil, err
	}
	var found []corev1.Node
	for _, i := range instances {
		n := slices.IndexFunc(all.Items, func(n corev1.Node) bool { return n.Spec.ProviderID == providerID(i) })
		if n < 0 {
			return nil, fmt.Errorf("instance %s is %s and has no node", *i.InstanceId, i.State.Name)
		}
		found = append(found, all.Items[n])
	}
	return found, nil
}

// healthy returns an error unless a pool has exactly that many nodes and healthy conditions.
func (h *hosted) healthy(pool string, count int) error {
	nodes, err := h.nodesOf(pool)
	if err == nil && len(nodes) != count {
		err = fmt.Errorf("there are %d nodes, want %d", len(nodes), count)
	}
	np := h.pool(pool)
	if np.Status.Replicas != int32(count) {
		err = errors.Join(err, fmt.Errorf("status.replicas is %d, want %d", np.Status.Replicas, count))
	}
	return errors.Join(err, poolConditions(np, map[string]corev1.ConditionStatus{
		hyperv1.NodePoolReadyCondition:            corev1.ConditionTrue,
		hyperv1.NodePoolAllMachinesReadyCondition: corev1.ConditionTrue,
		hyperv1.NodePoolAllNodesHealthyCondition:  corev1.ConditionTrue,
	}))
}

// poolConditions returns an error unless the conditions of a pool have these statuses, for its current generation.
func poolConditions(np *hyperv1.NodePool, want map[string]corev1.ConditionStatus) error {
	var errs []error
	for kind, status := range want {
		c := poolCondition(np, kind)
		if c.Status != status || c.ObservedGeneration != np.Generation {
			errs = append(errs, fmt.Errorf("%s of NodePool %s (generation %d) is not %s: %+v", kind, np.Name, np.Generation, status, c))
		}
	}
	return errors.Join(errs...)
}

func poolCondition(np *hyperv1.NodePool, kind string) hyperv1.NodePoolCondition {
	i := slices.IndexFunc(np.Status.Conditions, func(c hyperv1.NodePoolCondition) bool { return c.Type == kind })
	if i < 0 {
		return hyperv1.NodePoolCondition{Type: kind}
	}
	return np.Status.Conditions[i]
}

func (h *hosted) pool(name string) *hyperv1.NodePool {
	h.t.Helper()
	np := &hyperv1.NodePool{}
	h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.hc.Namespace, Name: name}, np))
	return np
}

// updatePool changes a NodePool like a user.
func (h *hosted) updatePool(name string, change func(*hyperv1.NodePool)) {
	h.t.Helper()
	np := h.pool(name)
	before := np.DeepCopy()
	change(np)
	h.must(h.management.Patch(h.t.Context(), np, client.MergeFrom(before)))
}

// scale works like `kubectl scale`.
func (h *hosted) scale(pool string, replicas int32) {
	h.t.Helper()
	np := h.pool(pool)
	s := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	h.must(h.management.SubResource("scale").Update(h.t.Context(), np, client.WithSubResourceBody(s)))
}
