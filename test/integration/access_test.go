package integration

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// modes are the load balancers of each access mode, and the number of its PrivateLink connections.
var modes = map[hyperv1.AWSEndpointAccessType]struct {
	loadBalancers []string
	private       int // PrivateLink connections
}{
	hyperv1.Public:           {loadBalancers: []string{names.Router}},
	hyperv1.PublicAndPrivate: {loadBalancers: []string{names.PrivateRouter, names.Router}, private: 1},
	hyperv1.Private:          {loadBalancers: []string{names.PrivateRouter}, private: 1},
}

// Every mode can be created, and can be changed to every other one while the cluster runs.
func TestAccessModes(t *testing.T) {
	for from := range modes {
		for to := range modes {
			t.Run(fmt.Sprintf("%s becomes %s", from, to), func(t *testing.T) {
				c := newCluster(t, from)
				c.start()
				c.pool("a", 0)
				eventually(t.Context(), t, "the cluster has the resources of its access mode", func() error { return c.as(from) })
				if from == to {
					return
				}
				c.update(func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.EndpointAccess = to })
				eventually(t.Context(), t, "the cluster has the resources of its new access mode", func() error { return c.as(to) })
			})
		}
	}
}

// The connection of a machine is kept after a change of the mode, as long as the machine may use it.
func TestFormerAccessIsKeptForMachines(t *testing.T) {
	c := newCluster(t, hyperv1.PublicAndPrivate)
	c.start()
	c.pool("a", 0)
	eventually(t.Context(), t, "the cluster has the resources of its access mode", func() error { return c.as(hyperv1.PublicAndPrivate) })
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: c.controlPlane(), Name: "starting"}}
	m.Spec.ClusterName = c.hc.Spec.InfraID
	m.Spec.Bootstrap.DataSecretName = ptr.To("user-data")
	m.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "AWSMachine", Name: "starting"}
	c.create(m)
	c.update(func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.EndpointAccess = hyperv1.Public })
	eventually(t.Context(), t, "the condition reports that machines are waited for", func() error {
		hc := &hyperv1.HostedCluster{}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(c.hc), hc); err != nil {
			return err
		}
		found := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.EndpointAccessUpToDate)
		if found == nil || found.Status != metav1.ConditionFalse || found.Reason != hyperv1.MachinesBehindReason || found.ObservedGeneration != hc.Generation {
			return fmt.Errorf("the condition is %+v", found)
		}
		return nil
	})
	if err := c.as(hyperv1.PublicAndPrivate); err != nil {
		t.Errorf("the machine is cut off: %v", err)
	}
	c.must(kube.Delete(t.Context(), m))
	eventually(t.Context(), t, "without the machine, the cluster has the resources of its new access mode", func() error { return c.as(hyperv1.Public) })
}

// as returns an error unless the cluster has exactly the resources of its access mode.
func (c *cluster) as(access hyperv1.AWSEndpointAccessType) error {
	want := modes[access]
	return errors.Join(c.published(want.loadBalancers...), c.connected(want.private), c.endpoints(want.private))
}

func TestEndpointHasTheSubnetsOfThePools(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	c.pool("a", 0)
	eventually(t.Context(), t, "the cluster is connected in the zone of its pool", func() error {
		return errors.Join(c.connected(1), c.endpointIn(c.customer.Subnets[0].ID))
	})

	b := c.pool("b", 1)
	eventually(t.Context(), t, "with a pool in another zone, the endpoint is in both zones", func() error {
		return errors.Join(c.connected(1), c.endpointIn(c.customer.Subnets[0].ID, c.customer.Subnets[1].ID))
	})

	if err := kube.Delete(t.Context(), b); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	eventually(t.Context(), t, "without that pool, the endpoint leaves the zone", func() error {
		return errors.Join(c.connected(1), c.endpointIn(c.customer.Subnets[0].ID))
	})
}
