package integration

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture/testenv"
)

// Each of these tests ends with vanish: no instance and nothing else may be left of a cluster with machines.
func TestDeletionWithMachines(t *testing.T) {
	for _, stage := range []struct {
		name  string
		comes func(*cluster) error
	}{
		{"when an instance starts", func(c *cluster) error {
			if len(c.ids("a")) == 0 {
				return errors.New("there is no instance")
			}
			return nil
		}},
		{"when a machine is being replaced", func(c *cluster) error {
			if err := c.healthy("a", 2); err == nil {
				c.updatePool("a", func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.InstanceType = "m5.xlarge" })
			}
			if len(c.ids("a")) < 3 {
				return errors.New("there is no third instance")
			}
			return nil
		}},
	} {
		t.Run(stage.name, func(t *testing.T) {
			c := newCluster(t, hyperv1.Private)
			c.start()
			c.startMachines()
			c.pool("a", 0)
			within(t.Context(), t, making, "the stage is reached", func() error { return stage.comes(c) })
		})
	}
}

// The controllers are killed repeatedly during their work.
func TestMachinesWhileTheControllersCrash(t *testing.T) {
	c := newCluster(t, hyperv1.Private)
	c.start()
	c.startMachines()
	c.pool("a", 0)
	within(t.Context(), t, making, "an instance exists", func() error {
		if len(c.ids("a")) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	c.must(on.Pods.Kill(testenv.OperatorNamespace, testenv.Operator))
	for _, controller := range c.controllersOfMachines() {
		c.must(on.Pods.Kill(controller.Namespace, controller.Name))
	}
	within(t.Context(), t, making, "two machines join, and not a third one", func() error { return c.healthy("a", 2) })

	gone := make(chan struct{})
	var killed sync.WaitGroup
	for _, controller := range c.controllersOfMachines() {
		killed.Go(func() { killOften(t, controller, gone) })
	}
	c.vanish()
	close(gone)
	killed.Wait()
}

// controllersOfMachines are the controllers of this cluster alone. The operator is killed by another test: if two tests
// did so, one of them would kill it whenever it is about to work again.
func (c *cluster) controllersOfMachines() []types.NamespacedName {
	return []types.NamespacedName{
		{Namespace: c.controlPlane(), Name: names.ClusterAPI},
		{Namespace: c.controlPlane(), Name: names.CAPIProvider},
	}
}

// With OnDelete, the user decides when a machine is replaced.
func TestOnDeleteReplacesOnlyDeletedMachines(t *testing.T) {
	c := newCluster(t, hyperv1.Public)
	c.start()
	c.startMachines()
	np := &hyperv1.NodePool{}
	c.sample("nodepool-third-zone.yaml", "NodePool", np)
	np.Namespace, np.Name = c.hc.Namespace, "a"
	np.Spec.Management.Replace = &hyperv1.ReplaceUpgrade{Strategy: hyperv1.UpgradeStrategyOnDelete}
	c.create(np)
	within(t.Context(), t, making, "two machines exist", func() error { return c.healthy("a", 2) })

	before := c.ids("a")
	c.updatePool("a", func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.InstanceType = "m5.xlarge" })
	eventually(t.Context(), t, "a condition reports that machines are outdated", func() error {
		return conditionsAre(c.nodePool("a"), map[string]corev1.ConditionStatus{hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition: corev1.ConditionTrue})
	})
	if after := c.ids("a"); !slices.Equal(before, after) {
		t.Fatalf("the instances were %v and are %v", before, after)
	}

	for range 2 {
		old := c.oldMachine()
		c.must(kube.Delete(t.Context(), old))
		within(t.Context(), t, making, "the deleted machine is replaced", func() error {
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(old), old); !apierrors.IsNotFound(err) {
				return cmp.Or(err, errors.New("it is still there"))
			}
			return c.healthy("a", 2)
		})
	}
	eventually(t.Context(), t, "nothing is outdated", func() error {
		return errors.Join(c.ofType("a", "m5.xlarge"), conditionsAre(c.nodePool("a"), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition: corev1.ConditionFalse,
		}))
	})
}

// oldMachine is a Machine whose instance has the first type.
func (c *cluster) oldMachine() *clusterv1.Machine {
	c.t.Helper()
	machines := &clusterv1.MachineList{}
	c.must(kube.List(c.t.Context(), machines, client.InNamespace(c.controlPlane())))
	instances, err := c.instances("a")
	c.must(err)
	for _, i := range instances {
		for m := range machines.Items {
			if machines.Items[m].Spec.ProviderID == providerID(i) && i.InstanceType == "m5.large" {
				return &machines.Items[m]
			}
		}
	}
	c.t.Fatal(fmt.Errorf("no Machine has an instance of the first type"))
	return nil
}
