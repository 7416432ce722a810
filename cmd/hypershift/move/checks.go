package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/sharedrouter"
)

// check checks both sides before anything is changed. moved is true if only the removal from the source is left.
func (m *move) check(ctx context.Context) (moved bool, err error) {
	arrived, err := m.target.HostedCluster(ctx, m.cluster().Namespace, m.cluster().Name)
	switch {
	case meta.IsNoMatchError(err):
		return false, fmt.Errorf("hypershift is not installed on %s: install it there with the same bucket for OIDC documents", m.target.Server)
	case err != nil:
		return false, err
	}
	if m.source == nil {
		return false, m.readBackup(ctx)
	}
	if err := m.checkSides(ctx); err != nil {
		return false, err
	}
	hc, err := m.source.HostedCluster(ctx, m.cluster().Namespace, m.cluster().Name)
	switch {
	case err != nil:
		return false, err
	case hc == nil && arrived == nil:
		return false, fmt.Errorf("HostedCluster %s exists on neither of the management clusters", m.cluster())
	case arrived == nil && hc.IsHandedOver():
		return false, fmt.Errorf("HostedCluster %s has the annotation %s at %s, and does not exist at %s: remove the annotation", m.cluster(), hyperv1.HandedOverAnnotation, m.source.Server, m.target.Server)
	case arrived != nil && arrived.IsHandedOver() && !m.back:
		return false, m.goesBack()
	case hc == nil || hc.IsHandedOver():
		if m.back {
			return false, fmt.Errorf("HostedCluster %s is being removed from %s, or is gone: move it from %s to there", m.cluster(), m.source.Server, m.target.Server)
		}
		return true, nil
	case arrived != nil && arrived.Annotations[hyperv1.MovedFromAnnotation] == "":
		return false, fmt.Errorf("%s has a HostedCluster %s that no move has created: a cluster keeps its namespace and name", m.target.Server, m.cluster())
	}
	pools, err := m.source.NodePools(ctx, hc.Namespace, hc.Name)
	if err != nil {
		return false, err
	}
	hcp, err := m.departing(ctx)
	if err != nil {
		return false, err
	}
	switch r, err := m.restore(ctx); {
	case err != nil:
		return false, err
	case arrived == nil && r != nil && r.Annotations[hyperv1.MovedFromAnnotation] == hcp.EndpointOwner() && !m.back:
		return false, m.goesBack()
	}
	if problems := obstacles(hc, hcp, pools, arrived != nil || m.back, m.env.Clock.Now()); len(problems) > 0 {
		return false, errors.Join(problems...)
	}
	return false, m.findStorage(ctx, hc)
}

func (m *move) goesBack() error {
	return fmt.Errorf("HostedCluster %s goes back to %s: continue with --back", m.cluster(), m.source.Server)
}

// checkSides rejects two connections to one management cluster.
func (m *move) checkSides(ctx context.Context) error {
	var uids []string
	for _, side := range []*management.API{m.source, m.target} {
		ns := &corev1.Namespace{}
		if err := side.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns); err != nil {
			return fmt.Errorf("reading namespace %s of %s: %w", metav1.NamespaceSystem, side.Server, err)
		}
		uids = append(uids, string(ns.UID))
	}
	if uids[0] == uids[1] {
		return fmt.Errorf("%s and %s are the same management cluster: name another one with --to-kubeconfig or --to-context", m.source.Server, m.target.Server)
	}
	return nil
}

// obstacles returns why a cluster cannot move. begun: what a move itself causes is none.
func obstacles(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane, pools []hyperv1.NodePool, begun bool, now time.Time) []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	api := hyperv1.PublishingOf(hcp.Spec.Services, hyperv1.APIServer)
	switch paused, _ := hc.Spec.PausedUntil.Paused(now); {
	case !hc.DeletionTimestamp.IsZero():
		add("HostedCluster %s is being deleted", hc.Name)
	case hc.Unreadable() != "":
		add("HostedCluster %s cannot be read: %s", hc.Name, hc.Unreadable())
	case hc.Spec.Platform.Type != hyperv1.AWSPlatform:
		add("HostedCluster %s is not on AWS", hc.Name)
	case hc.Spec.Etcd.ManagementType == hyperv1.Unmanaged:
		add("etcd of HostedCluster %s is not managed: the new control plane would share it with the old one", hc.Name)
	case hcp.ServedAccess() != hyperv1.Private && api.Type == hyperv1.LoadBalancer && api.Hostname() == "":
		add("the API server of HostedCluster %s has the address of its load balancer, and another load balancer has another one: give it a host name in spec.services, or access mode Private", hc.Name)
	case paused:
		add("spec.pausedUntil of HostedCluster %s stops changes: remove it", hc.Name)
	case !begun && hcp.SleepPhase() != hyperv1.SleepPhaseAwake:
		add("HostedCluster %s sleeps or wakes: wait until it is awake", hc.Name)
	case !begun && !meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable):
		add("HostedCluster %s is not available: see its conditions", hc.Name)
	case !begun && hcp.Spec.Platform.AWS != nil && hcp.ServedAccess() != hcp.Spec.Platform.AWS.EndpointAccess:
		add("HostedCluster %s changes its access mode: wait until it has", hc.Name)
	case !begun && (sharedrouter.Wanted(hc) || sharedrouter.Serves(hcp)):
		add("HostedCluster %s uses the shared router of its management cluster: set annotation %s to false, and move it when its AWSEndpointService %s is gone", hc.Name, hyperv1.SharedRouterAnnotation, sharedrouter.EndpointService)
	}
	if st := hc.Status.SecretEncryption; !begun && st != nil && st.TargetKey != nil {
		add("HostedCluster %s changes its encryption key: wait until status.secretEncryption has no targetKey", hc.Name)
	}
	for i := range pools {
		np := &pools[i]
		switch paused, _ := np.Spec.PausedUntil.Paused(now); {
		case !np.DeletionTimestamp.IsZero():
			add("NodePool %s is being deleted: wait until it is gone", np.Name)
		case paused:
			add("spec.pausedUntil of NodePool %s stops changes: remove it", np.Name)
		}
	}
	return problems
}

// findStorage completes the location of the snapshot: that of the EtcdRestore at the target, which waits there, or else that of the last backup of
// the cluster.
func (m *move) findStorage(ctx context.Context, hc *hyperv1.HostedCluster) error {
	s := &m.storage
	r, err := m.restore(ctx)
	if err != nil {
		return err
	}
	if r != nil && r.Spec.Object != nil {
		o := r.Spec.Object
		prefix := strings.TrimSuffix(o.Key, hc.Spec.InfraID+"/"+path.Base(o.Key))
		s.Bucket, s.Region, s.RoleARN, s.BucketOwner, s.KeyPrefix = o.Bucket, o.Region, o.RoleARN, o.BucketOwner, cmp.Or(strings.TrimSuffix(prefix, "/"), "/")
		return nil
	}
	if s.Region == "" {
		s.Region = hc.Spec.Platform.AWS.Region
	}
	given := []string{s.Bucket, s.KeyPrefix, string(s.RoleARN)}
	switch {
	case !slices.Contains(given, ""):
		return nil
	case slices.ContainsFunc(given, func(v string) bool { return v != "" }):
		return errors.New("--backup-bucket, --backup-prefix and --backup-role-arn belong together: set all of them, or none")
	}
	backups := &hyperv1.HCPEtcdBackupList{}
	if err := m.source.List(ctx, backups, client.InNamespace(m.plane().Namespace)); err != nil {
		return fmt.Errorf("listing the backups of the cluster: %w", err)
	}
	var last *hyperv1.HCPEtcdBackup
	for i := range backups.Items {
		b := &backups.Items[i]
		if hyperv1.IsBackupStored(b) && b.Spec.Storage.S3 != nil && b.Spec.Storage.S3.RoleARN != "" && (last == nil || last.CreationTimestamp.Before(&b.CreationTimestamp)) {
			last = b
		}
	}
	if last == nil {
		return errors.New("the snapshot of etcd needs a bucket: set --backup-bucket, --backup-prefix and --backup-role-arn (`hypershift create iam aws --backup-bucket` creates the role)")
	}
	*s = *last.Spec.Storage.S3
	return nil
}

// cluster is the HostedCluster. It has the same namespace and name on both sides.
func (m *move) cluster() client.ObjectKey { return m.moveOptions.source.Key() }

// plane is its HostedControlPlane.
func (m *move) plane() client.ObjectKey {
	return client.ObjectKey{Namespace: names.ControlPlaneNamespace(m.cluster().Namespace, m.cluster().Name), Name: m.cluster().Name}
}
