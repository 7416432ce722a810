package move

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
	"github.com/hosted-control-planes/hypershift/internal/clusterbundle"
)

// stepsBack returns the steps back to the source, from the state of both sides. Clients reach the API server of the target after its endpoints
// have been switched: then the source gets its data. Two control planes never run with data at the same time.
func (m *move) stepsBack(ctx context.Context) ([]step, error) {
	hc, err := m.target.HostedCluster(ctx, m.cluster().Namespace, m.cluster().Name)
	if err != nil {
		return nil, err
	}
	r, err := m.restore(ctx)
	if err != nil {
		return nil, err
	}
	mark := step{"mark", "from here on, the move can only go back", m.markTarget}
	data := step{"data", "store what clients have written at the target", m.returnData}
	wake := step{"wake", "start the API servers of the source", m.wake}
	removal := step{"removal", "delete what the target has of the cluster", func(ctx context.Context) error { return m.remove(ctx, m.target) }}
	cleanup := step{"cleanup", "delete what the move has created besides", m.cleanUpTarget}
	switch {
	case hc == nil && r == nil:
		return nil, fmt.Errorf("HostedCluster %s has not begun to move to %s, or is back", m.cluster(), m.target.Server)
	case hc == nil:
		return []step{wake, cleanup}, nil
	case !hc.DeletionTimestamp.IsZero():
		return []step{removal, wake, cleanup}, nil
	case hc.Annotations[hyperv1.PreviousEndpointsAnnotation] == hyperv1.PreviousEndpointsReplace:
		return []step{mark, data, wake, removal, cleanup}, nil
	case r != nil && r.Status.StartTime != nil:
		return []step{mark, removal, wake, cleanup}, nil
	}
	return []step{mark, wake, removal, cleanup}, nil
}

// markTarget keeps a later command from moving on: the source is about to wake, so that the snapshot no longer has every write.
func (m *move) markTarget(ctx context.Context) error {
	return m.annotate(ctx, m.target, map[string]any{hyperv1.HandedOverAnnotation: "true"})
}

// returnData stops the API servers of the target, and requests a restore of its etcd at the source.
func (m *move) returnData(ctx context.Context) error {
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	if err := m.stop(ctx, m.target); err != nil {
		return err
	}
	name := "back-" + snapshotName(hc)
	if err := m.store(ctx, m.target, name); err != nil {
		return err
	}
	back := m.restoreOf(hc, hc.Name+"-"+name, m.snapshotKey(hc, name))
	if err := m.source.Create(ctx, back); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("creating EtcdRestore %s: %w", back.Name, err)
	}
	return nil
}

// wake wakes the source. Its private records and load balancers come back, and it waits for the restore.
func (m *move) wake(ctx context.Context) error {
	r, err := m.restore(ctx)
	if err != nil {
		return err
	}
	annotations := map[string]any{hyperv1.SleepAnnotation: nil, hyperv1.SleepEtcdAnnotation: nil}
	for _, key := range changedAnnotations {
		annotations[key] = nil
		if r != nil && r.Annotations[key] != "" {
			annotations[key] = r.Annotations[key] // as it was before the move
		}
	}
	if err := m.takeRecordsBack(ctx, annotations); err != nil {
		return err
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

// takeRecordsBack lets the source replace private records that lead to the endpoints of the target.
func (m *move) takeRecordsBack(ctx context.Context, annotations map[string]any) error {
	hcp := &hyperv1.HostedControlPlane{}
	err := m.target.Get(ctx, m.plane(), hcp)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the control plane at %s: %w", m.target.Server, err)
	case hcp.ReplacedEndpointOwner() != "":
		annotations[hyperv1.MovedFromAnnotation], annotations[hyperv1.PreviousEndpointsAnnotation] = hcp.EndpointOwner(), hyperv1.PreviousEndpointsReplace
	}
	return nil
}

// cleanUpTarget deletes the EtcdRestore and the copies of Secrets and ConfigMaps at the target.
func (m *move) cleanUpTarget(ctx context.Context) error {
	r, err := m.restore(ctx)
	if err != nil || r == nil {
		return err
	}
	if err := clusterbundle.DeleteCopies(ctx, m.target, r.Namespace, r.Annotations[hyperv1.MovedFromAnnotation]); err != nil {
		return err
	}
	// It is last: it has what a repetition needs.
	if err := m.target.Delete(ctx, r); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting EtcdRestore %s: %w", r.Name, err)
	}
	return nil
}

// changedAnnotations are the annotations of the source that a move changes. The EtcdRestore at the target has those that the source had.
var changedAnnotations = []string{hyperv1.SleepMachinesAnnotation, hyperv1.SleepLoadBalancersAnnotation, hyperv1.PrivateRecordTTLAnnotation}

// restoreOf returns an EtcdRestore of a snapshot of the move.
func (m *move) restoreOf(hc *hyperv1.HostedCluster, name, key string) *hyperv1.EtcdRestore {
	return &hyperv1.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: hc.Namespace, Name: name},
		Spec: hyperv1.EtcdRestoreSpec{HostedClusterName: hc.Name, Object: &hyperv1.EtcdRestoreObject{
			Bucket: m.storage.Bucket, Region: m.storage.Region, RoleARN: m.storage.RoleARN, BucketOwner: m.storage.BucketOwner, Key: key,
		}},
	}
}
