package components

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// gatherRemains finds the pods and load balancers of a control plane that sleeps. An API server counts as long as its Deployment may
// create a pod.
func (r *Reconciler) gatherRemains(ctx context.Context, s *scope) error {
	pods, services, servers := &corev1.PodList{}, &corev1.ServiceList{}, &appsv1.Deployment{}
	if err := r.Client.List(ctx, pods, client.InNamespace(s.hcp.Namespace), client.HasLabels{component.ComponentLabel}); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	if err := r.Client.List(ctx, services, client.InNamespace(s.hcp.Namespace)); err != nil {
		return fmt.Errorf("listing Services: %w", err)
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.hcp.Namespace, Name: names.KubeAPIServer}, servers)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting Deployment %s: %w", names.KubeAPIServer, err)
	}
	s.serving = err == nil && (ptr.Deref(servers.Spec.Replicas, 1) > 0 || servers.Status.ObservedGeneration < servers.Generation || servers.Status.Replicas > 0)
	for _, pod := range pods.Items {
		switch of := pod.Labels[component.ComponentLabel]; {
		case of == names.Router && answers(s.hcp), of == names.Etcd && target.KeepsEtcd(s.hcp):
			continue
		}
		s.pods = append(s.pods, pod.Name)
		s.serving = s.serving || pod.Labels[component.ComponentLabel] == names.KubeAPIServer
	}
	for _, svc := range services.Items {
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
			s.balancers = append(s.balancers, svc.Name)
		}
	}
	slices.Sort(s.pods)
	slices.Sort(s.balancers)
	return nil
}

func answers(hcp *hyperv1.HostedControlPlane) bool { return (&target.ControlPlane{HCP: hcp}).Answers() }

// reportSleep sets the condition of a control plane that is to sleep: True when no pod is left, with what it costs.
func reportSleep(s *scope, conditions *reconcile.Conditions) {
	if !s.hcp.Sleeps() {
		conditions.Remove(hyperv1.HostedClusterAsleep)
		return
	}
	if s.states == nil {
		return // what is left is not known
	}
	for _, c := range s.states {
		if c.Degraded {
			conditions.Set(hyperv1.HostedClusterAsleep, metav1.ConditionFalse, hyperv1.FallingAsleepReason, c.Name+": "+c.Message)
			return
		}
	}
	if len(s.pods) > 0 {
		conditions.Set(hyperv1.HostedClusterAsleep, metav1.ConditionFalse, hyperv1.FallingAsleepReason, "waiting for the end of pods "+strings.Join(s.pods, ", "))
		return
	}
	conditions.Set(hyperv1.HostedClusterAsleep, metav1.ConditionTrue, hyperv1.AsleepReason, costs(s))
}

// costs lists the volumes and load balancers of a sleeping control plane.
func costs(s *scope) string {
	var costs []string
	if s.hcp.Spec.Etcd.ManagementType != hyperv1.Unmanaged {
		costs = append(costs, etcd.Volumes(s.hcp))
	}
	if len(s.balancers) > 0 {
		text := "load balancers: " + strings.Join(s.balancers, ", ")
		if kept := target.LoadBalancersKept(s.hcp); kept != "" && s.hcp.Annotations[hyperv1.SleepLoadBalancersAnnotation] == hyperv1.SleepDelete {
			text += " (kept: " + kept + ")"
		}
		costs = append(costs, text)
	}
	if answers(s.hcp) {
		costs = append(costs, "one pod of the router")
	}
	if target.KeepsEtcd(s.hcp) {
		costs = append(costs, "the pods of etcd")
	}
	if len(costs) == 0 {
		return "nothing of the control plane"
	}
	return strings.Join(costs, "; ")
}
