package teardown

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/mergepatch"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Adopted is a HostedCluster that is gone while its control plane exists.
type Adopted struct {
	// Replaced is true if there is a newer HostedCluster of the same name. The node
	// pools belong to that one.
	Replaced bool
	// Save stores the HostedCluster, with its status, on its namespace.
	Save func(context.Context) error
}

// FindAdopted finds the control plane of a deleted HostedCluster of that name: its user removed the
// finalizer, or deleted it in the moment in which it got the finalizer (see reconcile.Delete). hc
// becomes that HostedCluster, in the state of being deleted. The result is nil if there is no such
// control plane.
func (m *Manager) FindAdopted(ctx context.Context, hc *hyperv1.HostedCluster) (*Adopted, error) {
	plane := controlplane.NamespaceOf(hc)
	cached, err := getCluster(ctx, m.Client, plane.Cluster)
	if err != nil {
		return nil, err
	}
	ns := &corev1.Namespace{}
	err = m.Client.Get(ctx, client.ObjectKey{Name: plane.Name}, ns)
	if err != nil || !IsOrphaned(plane.Cluster, cached, ns) {
		return nil, client.IgnoreNotFound(err)
	}
	// The cache may lag, and a deletion cannot be undone.
	live, err := getCluster(ctx, m.Reader, plane.Cluster)
	if err != nil {
		return nil, fmt.Errorf("confirming that HostedCluster %s is gone: %w", plane.Cluster, err)
	}
	err = m.Reader.Get(ctx, client.ObjectKey{Name: plane.Name}, ns)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("confirming that namespace %s exists: %w", plane.Name, err)
	}
	if err != nil || !IsOrphaned(plane.Cluster, live, ns) {
		return nil, nil
	}
	save, err := m.restore(ctx, hc, plane, ns)
	if err != nil {
		return nil, err
	}
	return &Adopted{Replaced: live != nil, Save: save}, nil
}

// getCluster returns nil for a HostedCluster that does not exist.
func getCluster(ctx context.Context, c client.Reader, key client.ObjectKey) (*hyperv1.HostedCluster, error) {
	hc := &hyperv1.HostedCluster{}
	err := c.Get(ctx, key, hc)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return hc, err
}

// IsOrphaned reports whether the namespace was created for a cluster of that name,
// and not for hc, which is nil if it does not exist.
func IsOrphaned(key client.ObjectKey, hc *hyperv1.HostedCluster, ns *corev1.Namespace) bool {
	uid := ns.Labels[hyperv1.HostedClusterUIDLabel]
	return uid != "" && ns.Annotations[hyperv1.HostedClusterAnnotation] == key.String() && (hc == nil || !controlplane.Owns(hc, ns))
}

// AdoptedDetail returns the wait of an adopted cluster's deletion, as the end of a sentence.
func AdoptedDetail(ns *corev1.Namespace) string {
	rec, err := recordOn(ns)
	if err != nil || rec.Lost == nil {
		return ""
	}
	c := meta.FindStatusCondition(rec.Lost.Status.Conditions, hyperv1.HostedClusterDestroyed)
	if c == nil || c.Message == "" {
		return ""
	}
	return ": " + c.Message
}

// restore fills hc from the record on the namespace and, the first time, from the
// HostedControlPlane. It stores the result then, because the HostedControlPlane is
// deleted before the rest.
func (m *Manager) restore(ctx context.Context, hc *hyperv1.HostedCluster, plane controlplane.Namespace, ns *corev1.Namespace) (save func(context.Context) error, err error) {
	rec, err := recordOn(ns)
	if err != nil {
		return nil, err
	}
	if rec.Lost != nil {
		rec.Lost.DeepCopyInto(hc)
		return m.saveOn(ns, rec, hc), nil
	}
	hc.UID = types.UID(ns.Labels[hyperv1.HostedClusterUIDLabel])
	hc.Spec.InfraID, hc.Status.OIDCDocuments = rec.InfraID, rec.Documents
	now := metav1.NewTime(m.Clock.Now()).Rfc3339Copy() // as it is read again
	hc.DeletionTimestamp = &now
	hcp := &hyperv1.HostedControlPlane{}
	err = m.Client.Get(ctx, plane.Key(hc.Name), hcp)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("getting HostedControlPlane %s: %w", hc.Name, err)
	}
	if err == nil {
		restoreSpec(hc, hcp)
	}
	ctrl.LoggerFrom(ctx).Info("The HostedCluster is gone, and its control plane is not: taking it down", "controlPlane", ns.Name)
	m.Recorder.Eventf(hc, ns, corev1.EventTypeWarning, "HostedClusterLost", "Delete",
		"The HostedCluster is gone without its finalizer having been waited for; namespace %s and everything that belongs to it is deleted now", ns.Name)
	save = m.saveOn(ns, rec, hc)
	return save, save(ctx)
}

// restoreSpec restores the spec fields that a deletion needs. The tenant's operator may
// write the HostedControlPlane, so that its infraID and the names of the user's
// Secrets are not used.
func restoreSpec(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane) {
	hc.Annotations = map[string]string{}
	maps.Copy(hc.Annotations, controlplane.PropagatedAnnotations(hcp.Annotations))
	hc.Spec.Release.Image = hcp.Spec.ReleaseImage
	hc.Spec.ClusterID, hc.Spec.IssuerURL = hcp.Spec.ClusterID, hcp.Spec.IssuerURL
	hc.Spec.Platform = hcp.Spec.Platform
	hc.Spec.NodeSelector, hc.Spec.Tolerations, hc.Spec.Labels = hcp.Spec.NodeSelector, hcp.Spec.Tolerations, hcp.Spec.Labels
	if hcp.Spec.ServiceAccountSigningKey != nil {
		hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{} // the copy is all that there is
	}
}

// RecordAnnotation is on the namespace of a control plane, which the tenant's
// operator cannot write: the facts that are needed to delete the rest after the HostedCluster is
// deleted.
const RecordAnnotation = "hypershift.openshift.io/hosted-cluster-record"

type record struct {
	InfraID string `json:"infraID,omitempty"`
	// Documents is where this installation publishes the OIDC documents, nil if the
	// user does.
	Documents *hyperv1.OIDCDocumentsStatus `json:"oidcDocuments,omitempty"`
	// Lost is the HostedCluster once it is gone. Its status records how far its
	// deletion is.
	Lost *hyperv1.HostedCluster `json:"lost,omitempty"`
}

// Record returns the value of RecordAnnotation for a cluster that exists.
func (m *Manager) Record(hc *hyperv1.HostedCluster) string {
	rec := record{InfraID: hc.Spec.InfraID, Documents: hc.Status.OIDCDocuments}
	onAWS := hc.Spec.Platform.Type == hyperv1.AWSPlatform && hc.Spec.Platform.AWS != nil
	if rec.Documents == nil && onAWS && hc.Spec.ServiceAccountSigningKey == nil {
		rec.Documents = m.Documents.Location()
	}
	text, _ := json.Marshal(rec) // strings marshal
	return string(text)
}

// recordOn returns the record on a namespace, empty if it does not exist.
func recordOn(ns *corev1.Namespace) (record, error) {
	var rec record
	text, ok := ns.Annotations[RecordAnnotation]
	if !ok {
		return rec, nil
	}
	if err := json.Unmarshal([]byte(text), &rec); err != nil {
		return rec, fmt.Errorf("reading annotation %s of namespace %s: %w", RecordAnnotation, ns.Name, err)
	}
	return rec, nil
}

// saveOn returns a function that writes an adopted cluster with its status to its
// namespace, unless the namespace already contains it.
func (m *Manager) saveOn(ns *corev1.Namespace, rec record, hc *hyperv1.HostedCluster) func(context.Context) error {
	before := []byte(ns.Annotations[RecordAnnotation])
	return func(ctx context.Context) error {
		rec.Lost = hc
		after, err := json.Marshal(rec)
		if err != nil || bytes.Equal(before, after) {
			return err
		}
		patch := mergepatch.Metadata(map[string]any{"uid": ns.UID, "annotations": map[string]string{RecordAnnotation: string(after)}})
		err = m.Client.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns.Name}}, patch, client.FieldOwner(names.HypershiftOperator))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("recording the deletion of the HostedCluster on namespace %s: %w", ns.Name, err)
		}
		before = after
		return nil
	}
}
