package move

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/internal/cli/clusterprogress"
	"github.com/hosted-control-planes/hypershift/internal/clusterbundle"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// createState creates the cluster at the target, paused, with an EtcdRestore: its etcd waits for the snapshot.
func (m *move) createState(ctx context.Context) error {
	if done, err := m.stateCreated(ctx); err != nil || done {
		return err
	}
	if err := m.collect(ctx); err != nil {
		return err
	}
	previous := hyperv1.PreviousEndpointsKeep
	if m.source == nil {
		previous = hyperv1.PreviousEndpointsAdopt
	}
	err := m.bundle.CreateState(ctx, m.target, map[string]string{
		hyperv1.MovedFromAnnotation: m.bundle.EndpointOwner, hyperv1.PreviousEndpointsAnnotation: previous,
	})
	if err != nil {
		return err
	}
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	key := m.backupKey
	if m.source != nil {
		key = m.snapshotKey(hc, snapshotName(hc))
	}
	restore := m.restoreOf(hc, restoreName(hc.Name), key)
	restore.Annotations = map[string]string{hyperv1.MovedFromAnnotation: m.bundle.EndpointOwner}
	for _, key := range changedAnnotations {
		if value := hc.Annotations[key]; value != "" {
			restore.Annotations[key] = value
		}
	}
	if err := m.target.Create(ctx, restore); err != nil {
		return fmt.Errorf("creating EtcdRestore %s: %w", restore.Name, err)
	}
	return nil
}

// stateCreated reports whether the cluster exists with its EtcdRestore, which is created last. That of an earlier move is deleted.
func (m *move) stateCreated(ctx context.Context) (bool, error) {
	r, err := m.restore(ctx)
	if err != nil || r == nil {
		return false, err
	}
	hc, err := m.target.HostedCluster(ctx, m.cluster().Namespace, m.cluster().Name)
	if err != nil || hc != nil {
		return err == nil, err
	}
	if err := m.target.Delete(ctx, r); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("deleting EtcdRestore %s of an earlier move: %w", r.Name, err)
	}
	return false, nil
}

// collect reads the objects of the cluster at the source, unless they are those of a backup.
func (m *move) collect(ctx context.Context) (err error) {
	if m.source != nil {
		m.bundle, err = clusterbundle.Collect(ctx, m.source, m.cluster())
	}
	return err
}

func restoreName(cluster string) string { return cluster + "-move" }

// snapshotName is the name of the HCPEtcdBackup of a move to a HostedCluster, and of its object. It is another one for each move.
func snapshotName(hc *hyperv1.HostedCluster) string { return "move-" + string(hc.UID)[:8] }

// snapshotKey is the key of that object in the bucket.
func (m *move) snapshotKey(hc *hyperv1.HostedCluster, name string) string {
	return etcdbackup.ObjectKey(m.storage.KeyPrefix, hc.Spec.InfraID, name)
}

// restore returns the EtcdRestore at the target, or nil.
func (m *move) restore(ctx context.Context) (*hyperv1.EtcdRestore, error) {
	r := &hyperv1.EtcdRestore{}
	err := m.target.Get(ctx, client.ObjectKey{Namespace: m.cluster().Namespace, Name: restoreName(m.cluster().Name)}, r)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading EtcdRestore %s: %w", restoreName(m.cluster().Name), err)
	}
	return r, nil
}

// departing returns the HostedControlPlane at the source.
func (m *move) departing(ctx context.Context) (*hyperv1.HostedControlPlane, error) {
	hcp := &hyperv1.HostedControlPlane{}
	if err := m.source.Get(ctx, m.plane(), hcp); err != nil {
		return nil, fmt.Errorf("reading the control plane at %s: %w", m.source.Server, err)
	}
	return hcp, nil
}

// arrived returns the HostedCluster at the target.
func (m *move) arrived(ctx context.Context) (*hyperv1.HostedCluster, error) {
	return existing(ctx, m.target, m.cluster())
}

func existing(ctx context.Context, side *management.API, key client.ObjectKey) (*hyperv1.HostedCluster, error) {
	hc, err := side.HostedCluster(ctx, key.Namespace, key.Name)
	if err == nil && hc == nil {
		err = fmt.Errorf("HostedCluster %s has disappeared from %s", key, side.Server)
	}
	return hc, err
}

// startControlPlane resumes the HostedCluster at the target, and waits until it has everything but data.
func (m *move) startControlPlane(ctx context.Context) error {
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	if hc.Spec.PausedUntil != nil {
		if err := m.target.Patch(ctx, hc, mergepatch.Spec(map[string]any{"pausedUntil": nil})); err != nil {
			return fmt.Errorf("resuming HostedCluster %s: %w", m.cluster(), err)
		}
	}
	if m.source == nil {
		return nil // nothing is gained by a wait
	}
	if err := m.shortenRecords(ctx); err != nil {
		return err
	}
	wanted := &hyperv1.AWSEndpointServiceList{}
	if err := m.source.List(ctx, wanted, client.InNamespace(m.plane().Namespace)); err != nil {
		return fmt.Errorf("listing the AWSEndpointServices of the source: %w", err)
	}
	// One that the cluster is about to leave has no counterpart at the target.
	wanted.Items = slices.DeleteFunc(wanted.Items, func(es hyperv1.AWSEndpointService) bool { return es.Name == sharedrouter.EndpointService })
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		hc, err := m.arrived(ctx)
		if err != nil {
			return clusterprogress.Progress{}, err
		}
		p := clusterprogress.Progress{Done: true, Stalled: refused(hc)}
		if err := m.addEtcd(ctx, &p); err != nil {
			return p, err
		}
		return p, m.addEndpoints(ctx, &p, wanted.Items, prepared)
	})
}

// addEtcd adds to the progress whether etcd of the target begins with nothing but the snapshot.
func (m *move) addEtcd(ctx context.Context, p *clusterprogress.Progress) error {
	hcp := &hyperv1.HostedControlPlane{}
	if err := m.target.Get(ctx, m.plane(), hcp); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the control plane at %s: %w", m.target.Server, err)
	}
	e := clusterprogress.Entry{Name: "etcd", Label: "etcd", Text: "not created yet"}
	if hcp.Status.EtcdRestore != "" {
		e.Done, e.Text = true, "begins with the snapshot"
	}
	p.Entries, p.Done = append(p.Entries, e), p.Done && e.Done
	return nil
}

// refused returns why the installation at the target does not run the cluster; empty if it does.
func refused(hc *hyperv1.HostedCluster) string {
	for _, name := range []string{hyperv1.ValidHostedClusterConfiguration, hyperv1.ValidOIDCConfiguration, hyperv1.SupportedHostedCluster} {
		if c := meta.FindStatusCondition(hc.Status.Conditions, name); c != nil && c.Status == metav1.ConditionFalse {
			return name + ": " + c.Message
		}
	}
	return ""
}

// add adds a condition to the progress.
func add(p *clusterprogress.Progress, label string, c *metav1.Condition, done func(*metav1.Condition) bool) {
	e := clusterprogress.Entry{Name: label, Label: label, Text: "not reported yet"}
	if c != nil {
		e.Text, e.Done = c.Message, done(c)
	}
	p.Entries, p.Done = append(p.Entries, e), p.Done && e.Done
}

func isTrue(c *metav1.Condition) bool { return c.Status == metav1.ConditionTrue }

// prepared reports whether an endpoint can be used as soon as its records lead to it.
func prepared(c *metav1.Condition) bool { return isTrue(c) || c.Reason == hyperv1.RecordClaimedReason }

// addEndpoints adds the VPC endpoints at the target to the progress: the same as at the source.
func (m *move) addEndpoints(ctx context.Context, p *clusterprogress.Progress, wanted []hyperv1.AWSEndpointService, done func(*metav1.Condition) bool) error {
	for _, es := range wanted {
		got := &hyperv1.AWSEndpointService{}
		err := m.target.Get(ctx, client.ObjectKeyFromObject(&es), got)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading AWSEndpointService %s: %w", es.Name, err)
		}
		add(p, "endpoint "+es.Name, meta.FindStatusCondition(got.Status.Conditions, hyperv1.AWSEndpointAvailable), done)
	}
	return nil
}

// startAPIServer waits until etcd has the snapshot and the API server is ready. The operator looks for the snapshot when the EtcdRestore
// changes.
func (m *move) startAPIServer(ctx context.Context) error {
	r, err := m.restore(ctx)
	if err != nil {
		return err
	}
	if r == nil {
		return fmt.Errorf("EtcdRestore %s has disappeared from %s: use --back and begin again", restoreName(m.cluster().Name), m.target.Server)
	}
	if err := m.target.Patch(ctx, r, mergepatch.Annotations(map[string]string{storedAnnotation: m.env.Clock.Now().UTC().Format("20060102T150405Z")})); err != nil {
		return fmt.Errorf("annotating EtcdRestore %s: %w", r.Name, err)
	}
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		p := clusterprogress.Progress{Done: true}
		r, err := m.restore(ctx)
		if err != nil {
			return p, err
		}
		if r == nil {
			return p, fmt.Errorf("EtcdRestore %s has disappeared from %s", restoreName(m.cluster().Name), m.target.Server)
		}
		c := meta.FindStatusCondition(r.Status.Conditions, hyperv1.EtcdRestored)
		add(&p, "EtcdRestore "+r.Name, c, isTrue)
		if c != nil && c.Reason == hyperv1.RestoreRejectedReason {
			p.Stalled = c.Message
		}
		return p, nil
	})
}

// storedAnnotation, on an EtcdRestore, is when the snapshot was stored.
const storedAnnotation = "hypershift.openshift.io/snapshot-stored"

// switchEndpoints lets the private records lead to the endpoints of the target.
func (m *move) switchEndpoints(ctx context.Context) error {
	if err := m.annotate(ctx, m.target, map[string]any{hyperv1.PreviousEndpointsAnnotation: hyperv1.PreviousEndpointsReplace}); err != nil {
		return err
	}
	wanted := &hyperv1.AWSEndpointServiceList{}
	if err := m.target.List(ctx, wanted, client.InNamespace(m.plane().Namespace)); err != nil {
		return fmt.Errorf("listing AWSEndpointServices: %w", err)
	}
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		p := clusterprogress.Progress{Done: true}
		return p, m.addEndpoints(ctx, &p, wanted.Items, isTrue)
	})
}

// switchNames deletes the load balancers of the source. external-dns there deletes its records, and that of the target creates them.
func (m *move) switchNames(ctx context.Context) error {
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	if !hasPublicNames(hc) {
		return nil
	}
	if err := m.annotate(ctx, m.source, map[string]any{hyperv1.SleepLoadBalancersAnnotation: hyperv1.SleepDelete}); err != nil {
		return err
	}
	return m.awaitCondition(ctx, m.target, hyperv1.ExternalDNSReachable)
}

// hasPublicNames reports whether external-dns registers names of the cluster.
func hasPublicNames(hc *hyperv1.HostedCluster) bool {
	for _, s := range hc.Spec.Services {
		if s.ServicePublishingStrategy.Hostname() != "" && hc.Spec.Platform.AWS != nil && hc.Spec.Platform.AWS.EndpointAccess != hyperv1.Private {
			return true
		}
	}
	return false
}

// adoptMachines creates the objects of machines, resumes the NodePools, and waits until they have adopted the machines.
func (m *move) adoptMachines(ctx context.Context) error {
	if err := m.awaitMachineAPI(ctx); err != nil {
		return err
	}
	if err := m.collect(ctx); err != nil {
		return err
	}
	pools, err := m.target.NodePools(ctx, m.cluster().Namespace, m.cluster().Name)
	if err != nil {
		return err
	}
	// A pool that is not paused may have deleted machines since.
	if !slices.ContainsFunc(pools, func(np hyperv1.NodePool) bool { return np.Spec.PausedUntil == nil }) {
		if err := m.bundle.CreateMachines(ctx, m.target); err != nil {
			return err
		}
	}
	for i := range pools {
		if pools[i].Spec.PausedUntil == nil {
			continue
		}
		if err := m.target.Patch(ctx, &pools[i], mergepatch.Spec(map[string]any{"pausedUntil": nil})); err != nil {
			return fmt.Errorf("resuming NodePool %s: %w", pools[i].Name, err)
		}
	}
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		p := clusterprogress.Progress{Done: true}
		for _, obj := range m.bundle.Machines {
			if obj.GetKind() != machineKind {
				continue
			}
			e, err := m.adopted(ctx, &obj)
			if err != nil {
				return p, err
			}
			p.Entries, p.Done = append(p.Entries, e), p.Done && e.Done
		}
		return p, nil
	})
}

const machineKind = "Machine"

// awaitMachineAPI waits for the Cluster, which owns the objects of machines.
func (m *move) awaitMachineAPI(ctx context.Context) error {
	pools, err := m.target.NodePools(ctx, m.cluster().Namespace, m.cluster().Name)
	if err != nil || len(pools) == 0 {
		return err
	}
	hc, err := m.arrived(ctx)
	if err != nil {
		return err
	}
	return m.wait(ctx, func(ctx context.Context) (clusterprogress.Progress, error) {
		e := clusterprogress.Entry{Name: "Cluster", Label: "Cluster " + hc.Spec.InfraID, Text: "not created yet"}
		err := m.target.Get(ctx, client.ObjectKey{Namespace: m.plane().Namespace, Name: hc.Spec.InfraID}, &clusterv1.Cluster{})
		if err == nil {
			e.Done, e.Text = true, "exists"
		}
		return clusterprogress.Progress{Entries: []clusterprogress.Entry{e}, Done: e.Done}, client.IgnoreNotFound(err)
	})
}

// adopted reports whether Cluster API has found the node of a machine.
func (m *move) adopted(ctx context.Context, wanted *unstructured.Unstructured) (clusterprogress.Entry, error) {
	e := clusterprogress.Entry{Name: wanted.GetName(), Label: "Machine " + wanted.GetName(), Text: "has no node yet"}
	machine := &clusterv1.Machine{}
	if err := m.target.Get(ctx, client.ObjectKeyFromObject(wanted), machine); err != nil {
		if apierrors.IsNotFound(err) {
			e.Done, e.Text = true, "is gone"
			return e, nil
		}
		return e, fmt.Errorf("reading Machine %s: %w", wanted.GetName(), err)
	}
	if machine.Status.NodeRef.Name != "" {
		e.Done, e.Text = true, "node "+machine.Status.NodeRef.Name
	}
	return e, nil
}

// annotate sets annotations of the HostedCluster on one side. The value nil removes one.
func (m *move) annotate(ctx context.Context, side *management.API, annotations map[string]any) error {
	hc, err := existing(ctx, side, m.cluster())
	if err != nil {
		return err
	}
	if err := side.Patch(ctx, hc, mergepatch.Annotations(annotations)); err != nil {
		return fmt.Errorf("annotating HostedCluster %s: %w", m.cluster(), err)
	}
	return nil
}

func (m *move) wait(ctx context.Context, read func(context.Context) (clusterprogress.Progress, error)) error {
	return management.Wait(ctx, m.env, m.timeout, read)
}
