package bootstrap

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// resolveMachine gets the Machine. Cluster API creates the NodeBootstrap first and sets its owner later.
func (r *Reconciler) resolveMachine(ctx context.Context, s *scope) error {
	if problem := s.nb.Unreadable(); problem != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "the object cannot be read: %s", problem)
	}
	name := machineOf(s.nb)
	if name == "" {
		return reconcile.Wait(0, hyperv1.WaitingForMachineReason, "waiting for Cluster API to set the owner")
	}
	m := &clusterv1.Machine{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.nb.Namespace, Name: name}, m)
	if apierrors.IsNotFound(err) {
		return reconcile.Wait(10*time.Second, hyperv1.WaitingForMachineReason, "Machine %s does not exist", name)
	}
	if err != nil {
		return fmt.Errorf("getting Machine %s: %w", name, err)
	}
	s.machine = m
	s.node.Labels, s.node.Taints = nodeLabels(m), nodeTaints(m)
	return nil
}

// machineOf returns the name of the Machine that owns the NodeBootstrap, or "".
func machineOf(nb *hyperv1.NodeBootstrap) string {
	owner := metav1.GetControllerOf(nb)
	if owner == nil || owner.Kind != "Machine" || !strings.HasPrefix(owner.APIVersion, clusterv1.GroupVersion.Group+"/") {
		return ""
	}
	return owner.Name
}

// nodeLabels returns the labels of a Machine without those by which Cluster API selects it.
func nodeLabels(m *clusterv1.Machine) map[string]string {
	labels := map[string]string{}
	for key, value := range m.Labels {
		domain, _, _ := strings.Cut(key, "/")
		if domain != clusterv1.GroupVersion.Group && key != clusterv1.MachineDeploymentUniqueLabel {
			labels[key] = value
		}
	}
	return labels
}

// nodeTaints returns all taints. A pod that does not tolerate a taint must not run on the node even before Cluster API sets
// it.
func nodeTaints(m *clusterv1.Machine) []corev1.Taint {
	var taints []corev1.Taint
	for _, t := range m.Spec.Taints {
		taints = append(taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	return taints
}
