package deletion

import (
	"context"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
)

// terminationCheckAnnotation, on an AWSMachine that is being deleted, is the age of the deletion at which its instance was to be
// checked last.
const terminationCheckAnnotation = "hypershift.openshift.io/termination-check"

// terminationChecks are ages of a deletion. The AWS provider of Cluster API terminates the instance at once and checks it again
// after a minute. Most instances are terminated earlier, and the deletion of the cluster waits for the last one. Each change
// of an AWSMachine makes the provider check its instance.
var terminationChecks = []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second, 50 * time.Second}

// terminationCheck returns the check that is due at that age, or 0, and the time until the next one.
func terminationCheck(age time.Duration) (due, next time.Duration) {
	for _, at := range terminationChecks {
		if age < at {
			return due, at - age
		}
		due = at
	}
	if age >= time.Minute {
		due = 0 // the provider checks by itself
	}
	return due, retryInterval
}

// SkipDrain lets Cluster API terminate the machines of a cluster that is being deleted without draining their nodes: there is no
// other node for their pods, and a PodDisruptionBudget would keep the cluster forever. Cluster API does not drain nodes either when its
// Cluster is being deleted, but here the Cluster is deleted after its machines.
func (d Deletion) SkipDrain(ctx context.Context, p *objects.Pool) error {
	if p.HostedCluster != nil && p.HostedCluster.DeletionTimestamp.IsZero() {
		return nil
	}
	for i := range p.Machines {
		if err := objects.Annotate(ctx, d.Client, &p.Machines[i], map[string]any{
			clusterv1.ExcludeNodeDrainingAnnotation: "", clusterv1.ExcludeWaitForNodeVolumeDetachAnnotation: "",
		}); err != nil {
			return err
		}
	}
	return nil
}

// checkInstances lets the AWS provider check the instances that are being terminated, and returns when to do so again.
func (d Deletion) checkInstances(ctx context.Context, p *objects.Pool) (requeueAfter time.Duration, err error) {
	requeueAfter = retryInterval
	for i := range p.AWSMachines {
		m := &p.AWSMachines[i]
		if m.DeletionTimestamp.IsZero() {
			continue
		}
		due, next := terminationCheck(d.Clock.Since(m.DeletionTimestamp.Time))
		requeueAfter = min(requeueAfter, next)
		if due == 0 {
			continue
		}
		if err := objects.Annotate(ctx, d.Client, m, map[string]any{terminationCheckAnnotation: due.String()}); err != nil {
			return 0, err
		}
	}
	return requeueAfter, nil
}
