package move

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
)

// sleep stops the API servers at the source, and keeps etcd, machines and load balancers.
func (m *move) sleep(ctx context.Context) error {
	if err := m.compareSpecs(ctx); err != nil {
		return err
	}
	if err := m.awaitShortRecords(ctx); err != nil {
		return err
	}
	return m.stop(ctx, m.source)
}

const (
	// moveTTL is how long resolvers may cache the private records of a cluster that moves.
	moveTTL = 10 * time.Second
	// defaultTTL is the same without an annotation, and spread the time in which Route 53 serves a change.
	defaultTTL, spread = 5 * time.Minute, time.Minute
)

// shortenRecords lets nodes soon see a change of the private records of the source.
func (m *move) shortenRecords(ctx context.Context) error {
	hcp := &hyperv1.HostedControlPlane{}
	if err := m.source.Get(ctx, m.plane(), hcp); err != nil {
		return fmt.Errorf("reading the control plane at %s: %w", m.source.Server, err)
	}
	if ttl := hcp.PrivateRecordTTL(); !hcp.ServedAccess().Has(hyperv1.Private) || ttl != 0 && ttl <= moveTTL {
		return nil
	}
	return m.annotate(ctx, m.source, map[string]any{hyperv1.PrivateRecordTTLAnnotation: moveTTL.String()})
}

// awaitShortRecords waits until no resolver has a private record that it may cache for longer. The HostedCluster of the target has the time before
// the move in its annotation.
func (m *move) awaitShortRecords(ctx context.Context) error {
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	ttl := (&hyperv1.HostedControlPlane{ObjectMeta: hc.ObjectMeta}).PrivateRecordTTL()
	if !hc.Spec.Platform.AWS.EndpointAccess.Has(hyperv1.Private) || ttl != 0 && ttl <= moveTTL {
		return nil
	}
	until := hc.CreationTimestamp.Add(cmp.Or(ttl, defaultTTL) + spread)
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
		return fmt.Errorf("the spec of HostedCluster %s differs between both sides: it was changed during the move. Make it the same at %s", m.cluster(), m.target.Server)
	}
	pools, err := m.source.NodePools(ctx, hc.Namespace, hc.Name)
	if err != nil {
		return err
	}
	for _, np := range pools {
		other := &hyperv1.NodePool{}
		if err := m.target.Get(ctx, client.ObjectKeyFromObject(&np), other); err != nil {
			return fmt.Errorf("reading NodePool %s at %s: %w", np.Name, m.target.Server, err)
		}
		if other.Spec.PausedUntil = np.Spec.PausedUntil; !reflect.DeepEqual(np.Spec, other.Spec) {
			return fmt.Errorf("the spec of NodePool %s differs between both sides: it was changed during the move. Make it the same at %s", np.Name, m.target.Server)
		}
	}
	return nil
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
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		p := clusterprogress.Progress{Done: true}
		hc, err := existing(ctx, side, m.cluster())
		if err != nil {
			return p, err
		}
		add(&p, hyperv1.HostedClusterAsleep, meta.FindStatusCondition(hc.Status.Conditions, hyperv1.HostedClusterAsleep), isTrue)
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
	if err := side.Get(ctx, key, &hyperv1.HCPEtcdBackup{}); isMissing(err) {
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

// removeSource deletes what the source has of the cluster.
func (m *move) removeSource(ctx context.Context) error {
	hc, err := m.source.HostedCluster(ctx, m.cluster().Namespace, m.cluster().Name)
	if err != nil || hc == nil {
		return err
	}
	if !hc.IsHandedOver() {
		question := fmt.Sprintf("Remove cluster %s from %s? It runs on %s; there is no way back from here.", m.cluster(), m.source.Server, m.target.Server)
		if err := operation.Confirm(m.env, m.yes, question); err != nil {
			return err
		}
	}
	return m.remove(ctx, m.source)
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
