//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// TestTwoManagementClusters runs a private hosted cluster with a node on a second management cluster, which shares AWS and its bucket with the
// first one. Meanwhile the first one and its hosted cluster do not change. Nothing is left of the second one.
func TestTwoManagementClusters(t *testing.T) {
	begin(t)
	first := newHosted(t, "first", on.Versions[0])
	first.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.PublicAndPrivate
	first.create()
	first.must(first.management.Create(t.Context(), first.nodePool("first", 0))) // its subnet gets the VPC endpoint
	first.available()
	first.waitForCondition(hyperv1.AWSEndpointAvailable, "True")
	services, resources, nodes := first.privateLink().service.ServiceId, managementResources(t), first.nodeNames()
	unchanged := first.staysAvailable()

	t.Run("the second one", onSecondManagementCluster)

	unchanged()
	first.startedOnce()
	if now := first.nodeNames(); !slices.Equal(now, nodes) {
		t.Errorf("the first management cluster has nodes %v, and had %v", now, nodes)
	}
	if now := first.privateLink().service.ServiceId; *now != *services {
		t.Errorf("the endpoint service of the first management cluster is %s, and was %s", *now, *services)
	}
	first.eventually("the account of both has what it had", func(context.Context) error {
		if now := managementResources(t); !slices.Equal(now, resources) {
			return fmt.Errorf("it has\n%q\nand had\n%q", now, resources)
		}
		return nil
	})
	if status, err := on.Status(t.Context()); err != nil || status.Second != nil {
		t.Errorf("the second management cluster still exists: %v, %v", status.Second, err)
	}
}

func onSecondManagementCluster(t *testing.T) {
	second, err := on.Second(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if again, err := on.Lab.Second(t.Context(), cluster.SecondOptions{}); err != nil || again.Config.Host != second.Config.Host {
		t.Errorf("a second start returns another cluster: %v, %v", again, err)
	}
	h := newHostedOn(t, second, "second", second.Versions[0])
	h.hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Private
	h.create()
	pool := h.nodePool("second", 1)
	h.must(h.management.Create(t.Context(), pool))
	h.available()
	h.eventually("its machine is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
	h.startedOnce()
	if names := h.nodeNames(); !slices.Equal(names, []string{"second-m1"}) {
		t.Errorf("the second management cluster has nodes %v", names)
	}
}

// managementResources returns kind and id of every resource in the account of the management clusters.
func managementResources(t *testing.T) []string {
	t.Helper()
	resources, err := on.AWS.Resources(t.Context(), on.Management.Account)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range resources {
		all = append(all, r.Kind+" "+r.ID)
	}
	return all
}

// nodeNames returns the names of the management cluster's nodes.
func (h *hosted) nodeNames() []string {
	h.t.Helper()
	var nodes corev1.NodeList
	h.must(h.management.List(h.t.Context(), &nodes))
	var names []string
	for _, n := range nodes.Items {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names
}
