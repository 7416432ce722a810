package move

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
	"github.com/hosted-control-planes/hypershift/internal/clusterbundle"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
)

// sleep stops the API servers at the source, and keeps etcd, machines and load balancers.
func (m *move) sleep(ctx context.Context) error {
	if err := m.compareSpecs(ctx); err != nil {
		return err
	}
	if err := m.discardOldSnapshot(ctx); err != nil {
		return err
	}
	if err := m.awaitShortRecords(ctx); err != nil {
		return err
	}
	return m.stop(ctx, m.source)
}

// discardOldSnapshot deletes the snapshot of an earlier run if the source is awake, and so has written since.
func (m *move) discardOldSnapshot(ctx context.Context) error {
	hcp, err := m.departing(ctx)
	if err != nil || hcp.Sleeps() {
		return err
	}
	r, err := m.restore(ctx)
	if err != nil {
		return err
	}
	if r != nil && r.Status.StartTime != nil {
		return fmt.Errorf("the API servers run at %s, although %s has begun with a snapshot of %s: what was written at the former since then would be lost. Use --back, or, to lose it, annotate the HostedCluster there with %s=true",
			m.source.Server, m.target.Server, r.Status.StartTime.UTC().Format(time.RFC3339), hyperv1.SleepAnnotation)
	}
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	old := &hyperv1.HCPEtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: m.plane().Namespace, Name: snapshotName(hc)}}
	if err := m.source.Delete(ctx, old); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the snapshot of an earlier run: %w", err)
	}
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		err := m.source.Get(ctx, client.ObjectKeyFromObject(old), old)
		e := clusterprogress.Entry{Name: old.Name, Label: "HCPEtcdBackup " + old.Name, Text: "is being deleted", Done: apierrors.IsNotFound(err)}
		return clusterprogress.Progress{Entries: []clusterprogress.Entry{e}, Done: e.Done}, client.IgnoreNotFound(err)
	})
}

const (
	// moveTTL is how long resolvers may cache the private records of a cluster that moves.
	moveTTL = 10 * time.Second
	// defaultTTL is the same without an annotation, and spread the time in which Route 53 serves a change.
	defaultTTL, spread = 5 * time.Minute, time.Minute
)

// shortAnnotation, on an EtcdRestore, is since when the private records of the source have a short lifetime.
const shortAnnotation = "hypershift.openshift.io/records-short-since"

// shortenRecords lets nodes soon see a change of the private records of the source.
func (m *move) shortenRecords(ctx context.Context) error {
	hcp, err := m.departing(ctx)
	if err != nil || !hcp.ServedAccess().Has(hyperv1.Private) {
		return err
	}
	if ttl := cmp.Or(hcp.PrivateRecordTTL(), defaultTTL); ttl > moveTTL {
		if err := m.annotate(ctx, m.source, map[string]any{hyperv1.PrivateRecordTTLAnnotation: moveTTL.String()}); err != nil {
			return err
		}
	}
	r, err := m.restore(ctx)
	if err != nil || r == nil || r.Annotations[shortAnnotation] != "" {
		return err
	}
	since := mergepatch.Annotations(map[string]string{shortAnnotation: m.env.Clock.Now().UTC().Format(time.RFC3339)})
	if err := m.target.Patch(ctx, r, since); err != nil {
		return fmt.Errorf("annotating EtcdRestore %s: %w", r.Name, err)
	}
	return nil
}

// awaitShortRecords waits until no resolver has a private record that it may cache for longer. The EtcdRestore has the lifetime before the move.
func (m *move) awaitShortRecords(ctx context.Context) error {
	r, err := m.restore(ctx)
	if err != nil || r == nil {
		return err
	}
	ttl := cmp.Or((&hyperv1.HostedControlPlane{ObjectMeta: r.ObjectMeta}).PrivateRecordTTL(), defaultTTL)
	since, err := time.Parse(time.RFC3339, r.Annotations[shortAnnotation])
	if err != nil || ttl <= moveTTL {
		return nil //nolint:nilerr // there are no private records
	}
	until := since.Add(ttl + spread)
	return m.wait(ctx, func(context.Context) (clusterprogress.Progress, error) {
		e := clusterprogress.Entry{Name: "records", Label: "private records", Done: !m.env.Clock.Now().Before(until)}
		e.Text = "resolvers may have those with the longer lifetime until " + until.UTC().Format("15:04:05")
		return clusterprogress.Progress{Entries: []clusterprogress.Entry{e}, Done: e.Done}, nil
	})
}

// compareSpecs rejects a move of a cluster that was changed since its state was copied.
func (m *move) compareSpecs(ctx context.Context) error {
	hc, err := existing(ctx, m.source, m.cluster())
	if err != nil {
		return err
	}
	copied, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	if copied.Spec.PausedUntil = hc.Spec.PausedUntil; !reflect.DeepEqual(hc.Spec, copied.Spec) {
		return m.differs("the spec of HostedCluster " + hc.Name)
	}
	specs := map[string]hyperv1.NodePoolSpec{}
	pools, err := m.source.NodePools(ctx, hc.Namespace, hc.Name)
	if err != nil {
		return err
	}
	for _, np := range pools {
		np.Spec.PausedUntil = nil
		specs[np.Name] = np.Spec
	}
	if pools, err = m.target.NodePools(ctx, hc.Namespace, hc.Name); err != nil {
		return err
	}
	for _, np := range pools {
		np.Spec.PausedUntil = nil
		if spec, exists := specs[np.Name]; !exists || !reflect.DeepEqual(np.Spec, spec) {
			return m.differs("NodePool " + np.Name)
		}
		delete(specs, np.Name)
	}
	for name := range specs {
		return m.differs("NodePool " + name)
	}
	return m.compareKeys(ctx)
}

// compareKeys rejects it if its authorities or its signing key were rotated since.
func (m *move) compareKeys(ctx context.Context) error {
	now, err := clusterbundle.Collect(ctx, m.source, m.cluster())
	if err != nil {
		return err
	}
	different, err := now.DifferentKeys(ctx, m.target)
	if err == nil && different != "" {
		err = fmt.Errorf("Secret %s of the control plane differs between both sides: keys were rotated during the move. Use --back, and move again when the rotation is complete", different)
	}
	return err
}

func (m *move) differs(what string) error {
	return fmt.Errorf("%s differs between both sides: it was changed during the move. Make it the same at %s", what, m.target.Server)
}

// stop stops the API servers on one side, and waits until none can write.
func (m *move) stop(ctx context.Context, side *management.API) error {
	err := m.annotate(ctx, side, map[string]any{
		hyperv1.SleepAnnotation: "true", hyperv1.SleepEtcdAnnotation: hyperv1.SleepKeep,
		hyperv1.SleepMachinesAnnotation: hyperv1.SleepKeep, hyperv1.SleepLoadBalancersAnnotation: hyperv1.SleepKeep,
	})
	if err != nil {
		return err
	}
	return m.awaitCondition(ctx, side, hyperv1.HostedClusterAsleep)
}

// awaitCondition waits until a condition of the HostedCluster on one side is true.
func (m *move) awaitCondition(ctx context.Context, side *management.API, name string) error {
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		p := clusterprogress.Progress{Done: true}
		hc, err := existing(ctx, side, m.cluster())
		if err != nil {
			return p, err
		}
		add(&p, name, meta.FindStatusCondition(hc.Status.Conditions, name), isTrue)
		return p, nil
	})
}

// takeSnapshot stores etcd of the source.
func (m *move) takeSnapshot(ctx context.Context) error {
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	return m.store(ctx, m.source, snapshotName(hc))
}

// store stores etcd of one side in an object of that name.
func (m *move) store(ctx context.Context, side *management.API, name string) error {
	backup := &hyperv1.HCPEtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.plane().Namespace, Name: name, Annotations: map[string]string{hyperv1.EtcdBackupOfMoveAnnotation: "true"}},
		Spec:       hyperv1.HCPEtcdBackupSpec{Storage: hyperv1.HCPEtcdBackupStorage{StorageType: hyperv1.S3BackupStorage, S3: &m.storage}},
	}
	key := client.ObjectKeyFromObject(backup)
	if err := side.Get(ctx, key, &hyperv1.HCPEtcdBackup{}); apierrors.IsNotFound(err) {
		err = side.Create(ctx, backup)
		if err != nil {
			return fmt.Errorf("creating HCPEtcdBackup %s: %w", name, err)
		}
	} else if err != nil {
		return fmt.Errorf("reading HCPEtcdBackup %s: %w", name, err)
	}
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		p := clusterprogress.Progress{Done: true}
		b := &hyperv1.HCPEtcdBackup{}
		if err := side.Get(ctx, key, b); err != nil {
			return p, fmt.Errorf("reading HCPEtcdBackup %s: %w", name, err)
		}
		c := meta.FindStatusCondition(b.Status.Conditions, hyperv1.BackupCompleted)
		add(&p, "HCPEtcdBackup "+name, c, func(*metav1.Condition) bool { return hyperv1.IsBackupStored(b) })
		if hyperv1.IsBackupFinished(b) && !hyperv1.IsBackupStored(b) {
			p.Stalled = c.Message
		}
		return p, nil
	})
}

// removeSource deletes what the source has of the cluster, and at last the EtcdRestore of the move that it came with.
func (m *move) removeSource(ctx context.Context) error {
	hc, err := m.source.HostedCluster(ctx, m.cluster().Namespace, m.cluster().Name)
	if err != nil {
		return err
	}
	if hc != nil && !hc.IsHandedOver() {
		if err := m.awaitCondition(ctx, m.target, hyperv1.HostedClusterAvailable); err != nil {
			return err
		}
		question := fmt.Sprintf("Remove cluster %s from %s? It runs on %s; there is no way back from here.", m.cluster(), m.source.Server, m.target.Server)
		if err := operation.Confirm(m.env, m.yes, question); err != nil {
			return err
		}
	}
	if hc != nil {
		if err := m.remove(ctx, m.source); err != nil {
			return err
		}
	}
	arrival := &hyperv1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: m.cluster().Namespace, Name: restoreName(m.cluster().Name)}}
	if err := m.source.Delete(ctx, arrival); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting EtcdRestore %s: %w", arrival.Name, err)
	}
	return nil
}

// remove deletes the cluster from one side, and leaves machines and everything that the other side needs.
func (m *move) remove(ctx context.Context, side *management.API) error {
	if err := m.annotate(ctx, side, map[string]any{hyperv1.HandedOverAnnotation: "true"}); err != nil {
		return err
	}
	hc, err := existing(ctx, side, m.cluster())
	if err != nil {
		return err
	}
	uid := hc.UID
	if err := side.Delete(ctx, hc, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting HostedCluster %s: %w", m.cluster(), err)
	}
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		hc, err := side.HostedCluster(ctx, m.cluster().Namespace, m.cluster().Name)
		if err != nil || hc != nil && hc.UID != uid {
			return clusterprogress.Progress{Done: err == nil}, err
		}
		pools, err := side.NodePools(ctx, m.cluster().Namespace, m.cluster().Name)
		if err != nil {
			return clusterprogress.Progress{}, err
		}
		return clusterprogress.Deletion(hc, pools, ""), nil
	})
}
