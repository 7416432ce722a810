package infraid

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
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// Reservations are ConfigMaps in the namespace of the operator, one for each
// infraID of a deleted cluster. They name the owner: the UID of the namespace of the
// HostedCluster. Outside of AWS an infraID has no meaning, and is not reserved.
type Reservations struct {
	Client client.Client
	// Reader reads past the cache.
	Reader  client.Reader
	Applier *apply.Applier
	Clock   clock.PassiveClock
	// Namespace is the namespace of the operator. Empty for no reservations.
	Namespace string
}

const (
	// reservedFor is how long an infraID is reserved for its owner.
	reservedFor = 365 * 24 * time.Hour
	// maxReservations bounds the number of ConfigMaps: the oldest are deleted.
	maxReservations = 10000
	namePrefix      = "released-infra-id-"
	// Keys of the ConfigMap.
	infraIDKey      = "infraID"
	namespaceUIDKey = "namespaceUID"
	ownerKey        = "hostedCluster"
	releasedAtKey   = "releasedAt"
)

// configMapName contains a hash, because an infraID may be an invalid name of an
// object.
func configMapName(infraID string) string {
	sum := sha256.Sum256([]byte(infraID))
	return namePrefix + hex.EncodeToString(sum[:16])
}

func (r Reservations) set() apply.Set {
	return apply.Set{Name: "released-infra-ids", Namespace: r.Namespace}
}

// Add reserves the infraID of a cluster before the last object that contains it is
// deleted.
func (r Reservations) Add(ctx context.Context, hc *hyperv1.HostedCluster) error {
	id := hc.Spec.InfraID
	if r.Namespace == "" || id == "" || !onAWS(hc) {
		return nil
	}
	uid, err := r.namespaceUID(ctx, hc.Namespace)
	if err != nil {
		return err
	}
	_, err = r.Applier.Apply(ctx, r.set(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: configMapName(id)},
		Data: map[string]string{
			infraIDKey: id, namespaceUIDKey: uid, ownerKey: client.ObjectKeyFromObject(hc).String(), releasedAtKey: r.Clock.Now().UTC().Format(time.RFC3339),
		},
	})
	if apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		// The operator is being uninstalled. A cluster must not wait for that
		// forever.
		ctrl.LoggerFrom(ctx).Info("The operator's namespace is gone: the infraID is not reserved for its owner", "infraID", id)
		return nil
	}
	if err != nil {
		return err
	}
	return r.prune(ctx)
}

// namespaceUID is empty for a namespace that is gone.
func (r Reservations) namespaceUID(ctx context.Context, name string) (string, error) {
	ns := &corev1.Namespace{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, ns); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("getting namespace %s: %w", name, err)
	}
	return string(ns.UID), nil
}

// Check rejects an infraID that belonged to a HostedCluster of another namespace. A
// cluster that is created again in the same namespace gets its infraID back. It must
// not be called for a cluster that has begun to use the infraID.
func (r Reservations) Check(ctx context.Context, hc *hyperv1.HostedCluster, id string) (field.ErrorList, error) {
	if r.Namespace == "" || !onAWS(hc) {
		return nil, nil
	}
	cm := &corev1.ConfigMap{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: configMapName(id)}, cm)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("getting the earlier owner of infraID %s: %w", id, err)
	}
	at := releasedAt(cm)
	if r.Clock.Now().Sub(at) > reservedFor {
		return nil, nil
	}
	uid, err := r.namespaceUID(ctx, hc.Namespace)
	if err != nil || uid != "" && cm.Data[namespaceUIDKey] == uid {
		return nil, err
	}
	return field.ErrorList{validation.Errorf(hyperv1.InfraIDInUseReason, field.NewPath("spec", "infraID"), id,
		"infraID %s belonged to a HostedCluster of another namespace until %s, and AWS accounts may trust it still: create this cluster with another infraID, or have an administrator delete ConfigMap %s/%s",
		id, at.Format(time.DateOnly), r.Namespace, cm.Name)}, nil
}

// releasedAt returns when the infraID was released or, if that is invalid, when it
// was recorded.
func releasedAt(cm *corev1.ConfigMap) time.Time {
	at, err := time.Parse(time.RFC3339, cm.Data[releasedAtKey])
	if err != nil {
		return cm.CreationTimestamp.Time
	}
	return at
}

// prune deletes reservations that have expired, and the oldest if there are too many.
func (r Reservations) prune(ctx context.Context) error {
	var list corev1.ConfigMapList
	err := r.Reader.List(ctx, &list, client.InNamespace(r.Namespace), client.MatchingLabels{apply.InventoryLabel: names.HypershiftOperator + "." + r.set().Name})
	if err != nil {
		return fmt.Errorf("listing released infraIDs: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.ConfigMap) int { return releasedAt(&b).Compare(releasedAt(&a)) })
	for i := range list.Items {
		if cm := &list.Items[i]; i >= maxReservations || r.Clock.Now().Sub(releasedAt(cm)) > reservedFor {
			if err := r.Client.Delete(ctx, cm); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting ConfigMap %s: %w", cm.Name, err)
			}
		}
	}
	return nil
}
