//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// Each of these tests ends with the deletion of the cluster: no instance and no other object of it may remain. The deletion
// begins before the cluster is available.
func TestDeletionWithMachines(t *testing.T) {
	begin(t)
	for name, stage := range map[string]struct {
		prepare func(*hosted)
		what    string
		reached func(*hosted) error
	}{
		"early": {(*hosted).withoutAPIServer, "there are machines, and no API server for them", (*hosted).hasMachines},
		"start": {func(*hosted) {}, "an instance starts", func(h *hosted) error {
			if len(h.ids(h.hc.Name)) == 0 {
				return errors.New("there is no instance")
			}
			return nil
		}},
	} {
		t.Run("when "+stage.what, func(t *testing.T) {
			h := newHostedForPools(t, "gone-"+name)
			stage.prepare(h)
			h.create()
			h.must(h.management.Create(t.Context(), h.poolOfTwo(h.hc.Name)))
			h.eventually(stage.what, func(context.Context) error { return stage.reached(h) })
		})
	}
}

// withoutAPIServer selects a release with a kube-apiserver image that no registry contains.
func (h *hosted) withoutAPIServer() {
	missing := cluster.Registry + "/kube-apiserver@sha256:" + strings.Repeat("0", 64)
	release, err := on.PushRelease(h.t.Context(), "without-apiserver", on.Versions[0], map[string]string{names.KubeAPIServer: missing})
	h.must(err)
	h.hc.Spec.Release.Image = release
}

func (h *hosted) hasMachines() error {
	machines := &clusterv1.MachineList{}
	err := h.management.List(h.t.Context(), machines, client.InNamespace(h.namespace()))
	if err == nil && len(machines.Items) == 0 {
		err = fmt.Errorf("no Machine exists: %+v", poolCondition(h.pool(h.hc.Name), hyperv1.NodePoolReadyCondition))
	}
	return err
}

// controllersCrash kills the controllers during the creation of machines, and twice during the deletion of the cluster, which
// begins while a machine is being replaced. The controllers of Cluster API continue when the lease of their predecessor ends,
// after 60 seconds. They are killed again when they have deleted something, because otherwise they would never continue.
func controllersCrash(t *testing.T, h *hosted) {
	h.must(h.management.Create(t.Context(), h.poolOfTwo("crash")))
	h.eventually("an instance exists", func(context.Context) error {
		if len(h.ids("crash")) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	h.killControllers(t.Context())
	h.eventually("two machines join, and not a third one", func(context.Context) error { return h.healthy("crash", 2) })

	h.updatePool("crash", func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.InstanceType = "m5.xlarge" })
	h.eventually("a machine is being replaced", func(context.Context) error {
		if len(h.ids("crash")) < 3 {
			return errors.New("there is no third instance")
		}
		return nil
	})
	h.must(h.management.Delete(t.Context(), h.hc))
	h.killControllers(t.Context())
	before := len(h.ids(""))
	h.eventually("an instance is terminated in spite of it", func(context.Context) error {
		if now := len(h.ids("")); now >= before {
			return fmt.Errorf("there are %d, as before", now)
		}
		return nil
	})
	h.killControllers(t.Context())
	h.delete(t.Context())
}

// killControllers kills the pods of all controllers of machines without a graceful shutdown. They are restarted.
func (h *hosted) killControllers(ctx context.Context) {
	for namespace, apps := range map[string][]string{
		hosting.Namespace: {names.HypershiftOperator},
		h.namespace():     {names.ControlPlaneOperator, names.ClusterAPI},
	} {
		list := &corev1.PodList{}
		if err := h.management.List(ctx, list, client.InNamespace(namespace)); err != nil {
			h.t.Errorf("listing the pods of controllers: %v", err)
		}
		for _, pod := range list.Items {
			// During the deletion, some of them do not run any more.
			if slices.Contains(apps, pod.Labels["app"]) {
				_ = h.management.Delete(ctx, &pod, &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
			}
		}
	}
}

// replacedOnDelete tests that with OnDelete the user decides when a machine is replaced.
func replacedOnDelete(t *testing.T, h *hosted) {
	np := h.poolOfTwo("ondelete")
	np.Spec.Management.Replace = &hyperv1.ReplaceUpgrade{Strategy: hyperv1.UpgradeStrategyOnDelete}
	h.must(h.management.Create(t.Context(), np))
	h.eventually("two machines exist", func(context.Context) error { return h.healthy("ondelete", 2) })

	before := h.ids("ondelete")
	h.updatePool("ondelete", func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.InstanceType = "m5.2xlarge" })
	h.eventually("a condition reports that machines are outdated", func(context.Context) error {
		return poolConditions(h.pool("ondelete"), map[string]corev1.ConditionStatus{hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition: corev1.ConditionTrue})
	})
	if after := h.ids("ondelete"); !slices.Equal(before, after) {
		t.Fatalf("the instances were %v and are %v", before, after)
	}

	for range 2 {
		old := h.oldMachine()
		h.must(h.management.Delete(t.Context(), old))
		h.eventually("the deleted machine is replaced", func(context.Context) error {
			if err := h.management.Get(t.Context(), client.ObjectKeyFromObject(old), old); !apierrors.IsNotFound(err) {
				return cmp.Or(err, errors.New("it is still there"))
			}
			return h.healthy("ondelete", 2)
		})
	}
	h.eventually("nothing is outdated", func(context.Context) error {
		return errors.Join(h.ofType("ondelete", "m5.2xlarge"), poolConditions(h.pool("ondelete"), map[string]corev1.ConditionStatus{
			hyperv1.NodePoolUpdatingPlatformMachineTemplateCondition: corev1.ConditionFalse,
		}))
	})
	h.must(h.management.Delete(t.Context(), h.pool("ondelete")))
}

// oldMachine returns a Machine with an instance of the first type.
func (h *hosted) oldMachine() *clusterv1.Machine {
	h.t.Helper()
	machines := &clusterv1.MachineList{}
	h.must(h.management.List(h.t.Context(), machines, client.InNamespace(h.namespace())))
	instances, err := h.instances("ondelete")
	h.must(err)
	for _, i := range instances {
		for m := range machines.Items {
			if machines.Items[m].Spec.ProviderID == providerID(i) && i.InstanceType == "m5.large" {
				return &machines.Items[m]
			}
		}
	}
	h.t.Fatal(fmt.Errorf("no Machine has an instance of the first type"))
	return nil
}
