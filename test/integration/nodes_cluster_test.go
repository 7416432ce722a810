package integration

import (
	"errors"
	"fmt"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Helpers for tests with nodes: the cluster has an API server, and machines that join.

// startMachines starts the cluster's API server, and simulates its instances as nodes.
func (c *cluster) startMachines() {
	c.t.Helper()
	var err error
	c.machines, err = on.StartMachines(c.t.Context(), c.hc, c.customer)
	c.must(err)
	c.hosted, err = client.New(c.machines.API.Config, client.Options{})
	c.must(err)
}

// nodesOf are the nodes of a pool's instances, and an error if an instance has none.
func (c *cluster) nodesOf(pool string) ([]corev1.Node, error) {
	instances, err := c.instances(pool)
	if err != nil {
		return nil, err
	}
	all := &corev1.NodeList{}
	if err := c.hosted.List(c.t.Context(), all); err != nil {
		return nil, err
	}
	var found []corev1.Node
	for _, i := range instances {
		n := slices.IndexFunc(all.Items, func(n corev1.Node) bool { return n.Spec.ProviderID == providerID(i) })
		if n < 0 {
			return nil, fmt.Errorf("instance %s is %s and has no node; %v", *i.InstanceId, i.State.Name, c.machines.Nodes.Problems())
		}
		found = append(found, all.Items[n])
	}
	return found, nil
}

// healthy returns an error unless a pool has exactly that many nodes and healthy conditions.
func (c *cluster) healthy(pool string, count int) error {
	nodes, err := c.nodesOf(pool)
	if err == nil && len(nodes) != count {
		err = fmt.Errorf("there are %d nodes, want %d", len(nodes), count)
	}
	np := c.nodePool(pool)
	if np.Status.Replicas != int32(count) {
		err = errors.Join(err, fmt.Errorf("status.replicas is %d, want %d", np.Status.Replicas, count))
	}
	return errors.Join(err, conditionsAre(np, map[string]corev1.ConditionStatus{
		hyperv1.NodePoolReadyCondition:            corev1.ConditionTrue,
		hyperv1.NodePoolAllMachinesReadyCondition: corev1.ConditionTrue,
		hyperv1.NodePoolAllNodesHealthyCondition:  corev1.ConditionTrue,
	}))
}

// conditionsAre returns an error unless the conditions of a pool have these statuses, for its current generation.
func conditionsAre(np *hyperv1.NodePool, want map[string]corev1.ConditionStatus) error {
	var errs []error
	for kind, status := range want {
		c := condition(np, kind)
		if c.Status != status || c.ObservedGeneration != np.Generation {
			errs = append(errs, fmt.Errorf("%s of NodePool %s (generation %d) is not %s: %+v", kind, np.Name, np.Generation, status, c))
		}
	}
	return errors.Join(errs...)
}

func condition(np *hyperv1.NodePool, kind string) hyperv1.NodePoolCondition {
	i := slices.IndexFunc(np.Status.Conditions, func(c hyperv1.NodePoolCondition) bool { return c.Type == kind })
	if i < 0 {
		return hyperv1.NodePoolCondition{Type: kind}
	}
	return np.Status.Conditions[i]
}

func (c *cluster) nodePool(name string) *hyperv1.NodePool {
	c.t.Helper()
	np := &hyperv1.NodePool{}
	c.must(kube.Get(c.t.Context(), client.ObjectKey{Namespace: c.hc.Namespace, Name: name}, np))
	return np
}

// updatePool changes a NodePool like a user.
func (c *cluster) updatePool(name string, change func(*hyperv1.NodePool)) {
	c.t.Helper()
	np := c.nodePool(name)
	before := np.DeepCopy()
	change(np)
	c.must(kube.Patch(c.t.Context(), np, client.MergeFrom(before)))
}

// scale works like `kubectl scale`.
func (c *cluster) scale(pool string, replicas int32) {
	c.t.Helper()
	np := c.nodePool(pool)
	s := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	c.must(kube.SubResource("scale").Update(c.t.Context(), np, client.WithSubResourceBody(s)))
}
