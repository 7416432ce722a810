package nodejoin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// lateAfter is how long an instance runs until it is examined. An instance of EC2 boots, installs its programs and joins within
// one to two minutes.
const lateAfter = 3 * time.Minute

// A machine is one with a running instance and without a node.
type machine struct {
	uid            types.UID
	name, instance string
	since          time.Time
}

// findLate lists the late machines, in the order in which their instances were started.
func (r *Reconciler) findLate(ctx context.Context, s *scope) error {
	list := &clusterv1.MachineList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.hcp.Namespace)); err != nil {
		return fmt.Errorf("listing Machines: %w", err)
	}
	exists := map[types.UID]bool{}
	for i := range list.Items {
		m := &list.Items[i]
		since, started := startedAt(m)
		if !started {
			continue
		}
		if remaining := since.Add(lateAfter).Sub(r.Clock.Now()); remaining > 0 {
			s.comeBack(remaining)
			continue
		}
		exists[m.UID] = true
		s.late = append(s.late, machine{uid: m.UID, name: m.Name, instance: instanceID(m.Spec.ProviderID), since: since})
	}
	for uid := range r.known {
		if !exists[uid] {
			delete(r.known, uid)
		}
	}
	slices.SortFunc(s.late, func(a, b machine) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.name, b.name)) })
	return nil
}

// startedAt returns since when the instance of a machine without a node runs.
func startedAt(m *clusterv1.Machine) (time.Time, bool) {
	c := meta.FindStatusCondition(m.Status.Conditions, clusterv1.MachineInfrastructureReadyCondition)
	if m.Status.NodeRef.IsDefined() || !m.DeletionTimestamp.IsZero() || c == nil || c.Status != metav1.ConditionTrue || instanceID(m.Spec.ProviderID) == "" {
		return time.Time{}, false
	}
	return c.LastTransitionTime.Time, true
}

// instanceID returns the instance in a provider ID such as aws:///us-east-1a/i-0123456789abcdef0.
func instanceID(providerID string) string {
	rest, isAWS := strings.CutPrefix(providerID, "aws://")
	id := rest[strings.LastIndex(rest, "/")+1:]
	if !isAWS || !strings.HasPrefix(id, "i-") {
		return ""
	}
	return id
}

// Trim is a transform function for the cache: it keeps the part of a Machine that this controller reads.
func Trim(obj any) (any, error) {
	m, ok := obj.(*clusterv1.Machine)
	if !ok {
		return obj, nil
	}
	kept := &clusterv1.Machine{TypeMeta: m.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
	}}
	kept.Spec.ProviderID = m.Spec.ProviderID
	kept.Status.NodeRef = m.Status.NodeRef
	if c := meta.FindStatusCondition(m.Status.Conditions, clusterv1.MachineInfrastructureReadyCondition); c != nil {
		kept.Status.Conditions = []metav1.Condition{{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime}}
	}
	return kept, nil
}
