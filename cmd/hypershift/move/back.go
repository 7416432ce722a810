package move

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
	"github.com/hosted-control-planes/hypershift/internal/clusterbundle"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
)

// stepsBack are the steps back to the source. If clients have written to the target, the source gets their data.
func (m *move) stepsBack() []step {
	return []step{
		{"data", "store what clients have written since the API server of the target runs", m.returnData},
		{"wake", "start the API servers of the source", m.wake},
		{"removal", "delete what the target has of the cluster", m.removeTarget},
	}
}

// returnData stops the API servers of the target if they have ever run with data, and requests a restore of their etcd at the source.
func (m *move) returnData(ctx context.Context) error {
	r, err := m.restore(ctx)
	if err != nil || r == nil || r.Status.StartTime == nil {
		return err // no data has reached the target
	}
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	if !hyperv1.IsRestoreFinished(r) {
		return fmt.Errorf("the target begins with the data of the cluster at this moment: continue the move until its API server runs, then use --back")
	}
	if err := m.stop(ctx, m.target); err != nil {
		return err
	}
	name := "back-" + snapshotName(hc)
	if err := m.store(ctx, m.target, name); err != nil {
		return err
	}
	back := &hyperv1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: hc.Namespace, Name: hc.Name + "-" + name},
		Spec: hyperv1.EtcdRestoreSpec{HostedClusterName: hc.Name, Object: &hyperv1.EtcdRestoreObject{
			Bucket: m.storage.Bucket, Region: m.storage.Region, RoleARN: m.storage.RoleARN, BucketOwner: m.storage.BucketOwner,
			Key: etcdbackup.ObjectKey(m.storage.KeyPrefix, hc.Spec.InfraID, name),
		}},
	}
	if err := m.source.Create(ctx, back); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating EtcdRestore %s: %w", back.Name, err)
	}
	return nil
}

// removeTarget deletes what the target has of the cluster, with the objects that were created for the move.
func (m *move) removeTarget(ctx context.Context) error {
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	if err := m.remove(ctx, m.target); err != nil {
		return err
	}
	if r, err := m.restore(ctx); err != nil || r != nil {
		if err == nil {
			err = m.target.Delete(ctx, r)
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting EtcdRestore %s: %w", restoreName(hc.Name), err)
		}
	}
	return clusterbundle.DeleteCopies(ctx, m.target, hc.Namespace, hc.Annotations[hyperv1.MovedFromAnnotation])
}

// wake wakes the source. Its private records and load balancers come back, and it waits for the restore.
func (m *move) wake(ctx context.Context) error {
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	hcp := &hyperv1.HostedControlPlane{}
	err = m.target.Get(ctx, m.plane(), hcp)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the control plane at %s: %w", m.target.Server, err)
	}
	annotations := map[string]any{hyperv1.SleepAnnotation: nil, hyperv1.SleepEtcdAnnotation: nil}
	for _, key := range []string{hyperv1.SleepMachinesAnnotation, hyperv1.SleepLoadBalancersAnnotation, hyperv1.PrivateRecordTTLAnnotation} {
		annotations[key] = nil
		if value, exists := hc.Annotations[key]; exists && (hc.Annotations[hyperv1.SleepAnnotation] == "" || key == hyperv1.PrivateRecordTTLAnnotation) {
			annotations[key] = value // as it was before the move
		}
	}
	if err == nil {
		annotations[hyperv1.MovedFromAnnotation], annotations[hyperv1.PreviousEndpointsAnnotation] = hcp.EndpointOwner(), hyperv1.PreviousEndpointsReplace
	}
	if err := m.annotate(ctx, m.source, annotations); err != nil {
		return err
	}
	restores := &hyperv1.EtcdRestoreList{}
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		p := clusterprogress.Progress{Done: true}
		hc, err := existing(ctx, m.source, m.cluster())
		if err != nil {
			return p, err
		}
		if err := m.source.List(ctx, restores, client.InNamespace(hc.Namespace)); err != nil {
			return p, fmt.Errorf("listing EtcdRestores: %w", err)
		}
		for i := range restores.Items {
			if r := &restores.Items[i]; r.Spec.HostedClusterName == hc.Name && r.DeletionTimestamp.IsZero() && !hyperv1.IsRestoreFinished(r) {
				add(&p, "EtcdRestore "+r.Name, meta.FindStatusCondition(r.Status.Conditions, hyperv1.EtcdRestored), isTrue)
			}
		}
		add(&p, hyperv1.HostedClusterAvailable, meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterAvailable), isTrue)
		return p, nil
	})
}
