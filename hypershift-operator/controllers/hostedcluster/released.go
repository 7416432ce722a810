package hostedcluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/validation"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// An infraID is also the end of the URL of an issuer. Identity providers in AWS that
// its owner did not delete trust that URL for as long as they exist, so that no
// other tenant may get the infraID after the cluster is deleted. A ConfigMap in the
// namespace of the operator records the owner of each released infraID: the UID of
// the namespace of the HostedCluster.

const (
	releasedPrefix = "released-infra-id-"
	// releasedFor is how long an infraID is reserved for its owner.
	releasedFor = 365 * 24 * time.Hour
	// releasedAtMost bounds the number of records: the oldest are deleted.
	releasedAtMost = 10000
	// Keys of the ConfigMap.
	releasedInfraID      = "infraID"
	releasedNamespaceUID = "namespaceUID"
	releasedOwner        = "hostedCluster"
	releasedAt           = "releasedAt"
)

// releasedName contains a hash, because an infraID may be an invalid name of an
// object.
func releasedName(infraID string) string {
	sum := sha256.Sum256([]byte(infraID))
	return releasedPrefix + hex.EncodeToString(sum[:16])
}

func (r *Reconciler) releasedSet() apply.Set {
	return apply.Set{Name: "released-infra-ids", Namespace: r.Namespace}
}

// releaseInfraID records the owner of the infraID before the last object that
// contains it is deleted. Outside of AWS an infraID has no meaning.
func (r *Reconciler) releaseInfraID(ctx context.Context, s *scope) error {
	id := s.hc.Spec.InfraID
	if r.Namespace == "" || id == "" || s.aws() == nil {
		return nil
	}
	uid, err := r.namespaceUID(ctx, s.hc.Namespace)
	if err != nil {
		return err
	}
	_, err = r.apply.Apply(ctx, r.releasedSet(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: releasedName(id)},
		Data: map[string]string{
			releasedInfraID: id, releasedNamespaceUID: uid, releasedOwner: clusterKey(s.hc), releasedAt: r.Clock.Now().UTC().Format(time.RFC3339),
		},
	})
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		// The operator is being uninstalled. A cluster must not wait for that
		// forever.
		ctrl.LoggerFrom(ctx).Info("The operator's namespace is gone: whose the infraID was is not remembered", "infraID", id)
		return nil
	}
	if err != nil {
		return err
	}
	return r.forgetReleased(ctx)
}

// namespaceUID is empty for a namespace that is gone.
func (r *Reconciler) namespaceUID(ctx context.Context, name string) (string, error) {
	ns := &corev1.Namespace{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, ns); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("getting namespace %s: %w", name, err)
	}
	return string(ns.UID), nil
}

// checkReleased rejects an infraID that belonged to a HostedCluster of another
// namespace. A cluster that exists keeps its own, and one that is created again in
// the same namespace gets it back.
func (r *Reconciler) checkReleased(ctx context.Context, s *scope, id string) (field.ErrorList, error) {
	if r.Namespace == "" || s.namespace != nil || s.aws() == nil || s.hc.Status.OIDCDocuments != nil {
		return nil, nil
	}
	cm := &corev1.ConfigMap{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: releasedName(id)}, cm)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("finding out whose infraID %s was: %w", id, err)
	}
	at := timeOf(cm)
	if r.Clock.Now().Sub(at) > releasedFor {
		return nil, nil
	}
	uid, err := r.namespaceUID(ctx, s.hc.Namespace)
	if err != nil || uid != "" && cm.Data[releasedNamespaceUID] == uid {
		return nil, err
	}
	return field.ErrorList{validation.Errorf(hyperv1.InfraIDInUseReason, field.NewPath("spec", "infraID"), id,
		"infraID %s belonged to a HostedCluster of another namespace until %s, and AWS accounts may trust it still: create this cluster with another infraID, or have an administrator delete ConfigMap %s/%s",
		id, at.Format(time.DateOnly), r.Namespace, cm.Name)}, nil
}

// timeOf returns when the infraID was released or, if that is invalid, when it was
// recorded.
func timeOf(cm *corev1.ConfigMap) time.Time {
	at, err := time.Parse(time.RFC3339, cm.Data[releasedAt])
	if err != nil {
		return cm.CreationTimestamp.Time
	}
	return at
}

// forgetReleased deletes records that have expired, and the oldest if there are too
// many.
func (r *Reconciler) forgetReleased(ctx context.Context) error {
	var list corev1.ConfigMapList
	err := r.Reader.List(ctx, &list, client.InNamespace(r.Namespace), client.MatchingLabels{apply.InventoryLabel: names.HypershiftOperator + "." + r.releasedSet().Name})
	if err != nil {
		return fmt.Errorf("listing released infraIDs: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.ConfigMap) int { return timeOf(&b).Compare(timeOf(&a)) })
	for i := range list.Items {
		if cm := &list.Items[i]; i >= releasedAtMost || r.Clock.Now().Sub(timeOf(cm)) > releasedFor {
			if err := r.Client.Delete(ctx, cm); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("forgetting ConfigMap %s: %w", cm.Name, err)
			}
		}
	}
	return nil
}
