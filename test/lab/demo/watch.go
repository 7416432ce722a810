package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// available describes why a cluster is not completely available in its version yet; empty at the end.
func available(h hosted, hc *hyperv1.HostedCluster) string {
	if hc == nil {
		return "there is no HostedCluster"
	}
	for _, want := range []struct{ condition, status string }{
		{hyperv1.HostedClusterAvailable, "True"}, {hyperv1.HostedClusterProgressing, "False"}, {hyperv1.ConfigOperatorReconciliationSucceeded, "True"},
	} {
		if what := lacks(hc, want.condition, want.status); what != "" {
			return what
		}
	}
	history := ptr.Deref(hc.Status.Version, hyperv1.ClusterVersionStatus{}).History
	if len(history) == 0 || history[0].Version != h.version || history[0].State != "Completed" {
		return h.version + " is not rolled out yet"
	}
	return ""
}

// connected describes why the API server does not reach pods on nodes yet.
func connected(_ hosted, hc *hyperv1.HostedCluster) string {
	if hc == nil {
		return "there is no HostedCluster"
	}
	return lacks(hc, hyperv1.DataPlaneConnectionAvailable, "True")
}

// lacks is the message of a condition that has another status.
func lacks(hc *hyperv1.HostedCluster, condition, status string) string {
	c := meta.FindStatusCondition(hc.Status.Conditions, condition)
	if c != nil && string(c.Status) == status {
		return ""
	}
	return condition + ": " + ptr.Deref(c, metav1.Condition{Message: "waiting for the first status"}).Message
}

// gone describes why a cluster is not deleted yet.
func gone(_ hosted, hc *hyperv1.HostedCluster) string {
	if hc != nil {
		return "the HostedCluster is still there"
	}
	return ""
}

// follow prints events of a cluster until missing returns "".
func (s *show) follow(ctx context.Context, what string, h hosted, missing func(hosted, *hyperv1.HostedCluster) string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the %s of %s takes too long", what, h.Name))
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		hc := &hyperv1.HostedCluster{}
		err := s.management.Get(ctx, h.ObjectKey, hc)
		if apierrors.IsNotFound(err) {
			hc, err = nil, nil
		}
		pods, podsErr := s.pods(ctx, h)
		if err == nil && podsErr == nil {
			s.reportPods(h, s.seen[h.Name], pods)
			s.seen[h.Name] = pods
			now := missing(h, hc)
			if now == "" {
				return nil
			}
			if now != last {
				s.report("… %s: %s", h.Name, now)
				last = now
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// pods are the states of a control plane's pods, by name.
func (s *show) pods(ctx context.Context, h hosted) (map[string]string, error) {
	list := &corev1.PodList{}
	if err := s.management.List(ctx, list, client.InNamespace(names.ControlPlaneNamespace(h.Namespace, h.Name))); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	found := map[string]string{}
	for _, p := range list.Items {
		found[p.Name] = stateOf(&p)
	}
	return found, nil
}

const ready = "ready"

func stateOf(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return ready + " on " + p.Spec.NodeName
		}
	}
	return ""
}

// reportPods prints which pods have become ready, and which are deleted.
func (s *show) reportPods(h hosted, before, after map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if after[name] != "" && before[name] != after[name] {
			s.report("+ %s: pod %s is %s", h.Name, name, after[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[name]; !there {
			s.report("- %s: pod %s is deleted", h.Name, name)
		}
	}
}
