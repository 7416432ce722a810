package hostedcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// lost returns the scope of the HostedCluster of that name for which there is a control
// plane, and which is gone: its user removed our finalizer, or deleted it in the moment in
// which it got the finalizer (see reconcile.Delete). It is restored, as one that is being
// deleted, from its namespace and its HostedControlPlane, and hc becomes it. There may be a
// newer HostedCluster of the same name: then the node pools belong to that one.
func (r *Reconciler) findAdopted(ctx context.Context, hc *hyperv1.HostedCluster) (*scope, error) {
	key := client.ObjectKeyFromObject(hc)
	cached := &hyperv1.HostedCluster{}
	err := r.Client.Get(ctx, key, cached)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil {
		cached = nil
	}
	place := client.ObjectKey{Name: names.ControlPlaneNamespace(key.Namespace, key.Name)}
	ns := &corev1.Namespace{}
	err = r.Client.Get(ctx, place, ns)
	if err != nil || !isOrphaned(key, cached, ns) {
		return nil, client.IgnoreNotFound(err)
	}
	// What is acted on now must be true, and the cache may be late.
	live := &hyperv1.HostedCluster{}
	err = r.Reader.Get(ctx, key, live)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("making sure that HostedCluster %s is gone: %w", key, err)
	}
	if apierrors.IsNotFound(err) {
		live = nil
	}
	err = r.Reader.Get(ctx, place, ns)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("making sure that namespace %s is left: %w", place.Name, err)
	}
	if err != nil || !isOrphaned(key, live, ns) {
		return nil, nil
	}
	s, err := r.restore(ctx, hc, ns)
	if err == nil && live != nil {
		s.pools = nil
	}
	return s, err
}

// orphan reports whether the namespace was made for a cluster of that name, and not
// for hc, which is nil if there is none.
func isOrphaned(key client.ObjectKey, hc *hyperv1.HostedCluster, ns *corev1.Namespace) bool {
	uid := ns.Labels[hyperv1.HostedClusterUIDLabel]
	return uid != "" && ns.Annotations[hyperv1.HostedClusterAnnotation] == key.String() && (hc == nil || !owns(hc, ns))
}

// deletionDetail is what the deletion of the lost cluster waits for, as the end of a sentence.
func deletionDetail(ns *corev1.Namespace) string {
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

// recall gathers what there is of a lost cluster. The first time it writes down
// what is remembered, since the HostedControlPlane goes before the rest does.
func (r *Reconciler) restore(ctx context.Context, hc *hyperv1.HostedCluster, ns *corev1.Namespace) (*scope, error) {
	rec, err := recordOn(ns)
	if err != nil {
		return nil, err
	}
	if rec.Lost != nil {
		rec.Lost.DeepCopyInto(hc)
		s, err := r.gather(ctx, hc)
		if err == nil {
			s.save = r.saveAdopted(s.hc, ns, rec)
		}
		return s, err
	}
	hc.UID = types.UID(ns.Labels[hyperv1.HostedClusterUIDLabel])
	hc.Spec.InfraID, hc.Status.OIDCDocuments = rec.InfraID, rec.Documents
	now := metav1.NewTime(r.Clock.Now()).Rfc3339Copy() // as it is read again
	hc.DeletionTimestamp = &now
	s, err := r.gather(ctx, hc)
	if err != nil {
		return nil, err
	}
	if s.hcp != nil {
		restoreSpec(hc, s.hcp)
	}
	ctrl.LoggerFrom(ctx).Info("The HostedCluster is gone, and its control plane is not: taking it down", "namespace", ns.Name)
	r.Recorder.Eventf(hc, ns, corev1.EventTypeWarning, "HostedClusterLost", "Delete",
		"The HostedCluster is gone without its finalizer having been waited for; namespace %s and everything that belongs to it is deleted now", ns.Name)
	s.save = r.saveAdopted(hc, ns, rec)
	return s, s.save(ctx)
}

// remember takes over what a deletion needs of the spec. The tenant's operator
// may write the HostedControlPlane: which infraID and which of the user's
// Secrets were meant is irrelevant.
func restoreSpec(hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane) {
	hc.Annotations = map[string]string{}
	for _, key := range propagatedAnnotations {
		if value, ok := hcp.Annotations[key]; ok {
			hc.Annotations[key] = value
		}
	}
	hc.Spec.Release.Image = hcp.Spec.ReleaseImage
	hc.Spec.ClusterID, hc.Spec.IssuerURL = hcp.Spec.ClusterID, hcp.Spec.IssuerURL
	hc.Spec.Platform = hcp.Spec.Platform
	hc.Spec.NodeSelector, hc.Spec.Tolerations, hc.Spec.Labels = hcp.Spec.NodeSelector, hcp.Spec.Tolerations, hcp.Spec.Labels
	if hcp.Spec.ServiceAccountSigningKey != nil {
		hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{} // the copy is all that there is
	}
}

// recordAnnotation is on the namespace of a control plane, which the tenant's
// operator cannot write: what it takes to delete the rest if the HostedCluster is
// gone.
const recordAnnotation = "hypershift.openshift.io/hosted-cluster-record"

type record struct {
	InfraID string `json:"infraID,omitempty"`
	// Documents is where the OIDC documents are, if we publish them.
	Documents *hyperv1.OIDCDocumentsStatus `json:"oidcDocuments,omitempty"`
	// Lost is the HostedCluster once it is gone. Its status records how far its
	// deletion is.
	Lost *hyperv1.HostedCluster `json:"lost,omitempty"`
}

// recordFor is the record of a living cluster, JSON.
func (r *Reconciler) recordFor(hc *hyperv1.HostedCluster) string {
	rec := record{InfraID: hc.Spec.InfraID, Documents: hc.Status.OIDCDocuments}
	if rec.Documents == nil && r.Documents != nil && awsOf(hc) != nil && hc.Spec.ServiceAccountSigningKey == nil {
		rec.Documents = r.oidc.Location()
	}
	text, _ := json.Marshal(rec) // strings marshal
	return string(text)
}

// recordOn is the record on a namespace, empty if there is none.
func recordOn(ns *corev1.Namespace) (record, error) {
	var rec record
	text, ok := ns.Annotations[recordAnnotation]
	if !ok {
		return rec, nil
	}
	if err := json.Unmarshal([]byte(text), &rec); err != nil {
		return rec, fmt.Errorf("reading annotation %s of namespace %s: %w", recordAnnotation, ns.Name, err)
	}
	return rec, nil
}

// saveAdopted writes a lost cluster, status and all, onto its namespace, if it is
// not there as it is now.
func (r *Reconciler) saveAdopted(hc *hyperv1.HostedCluster, ns *corev1.Namespace, rec record) func(context.Context) error {
	before := []byte(ns.Annotations[recordAnnotation])
	return func(ctx context.Context) error {
		rec.Lost = hc
		after, err := json.Marshal(rec)
		if err != nil || bytes.Equal(before, after) {
			return err
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": ns.UID, "annotations": map[string]string{recordAnnotation: string(after)},
		}})
		if err != nil {
			return err
		}
		err = r.Client.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns.Name}}, client.RawPatch(types.MergePatchType, body), client.FieldOwner(names.HypershiftOperator))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("writing to namespace %s how far the deletion of its lost HostedCluster is: %w", ns.Name, err)
		}
		before = after
		return nil
	}
}
