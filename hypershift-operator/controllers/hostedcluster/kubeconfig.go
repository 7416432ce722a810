package hostedcluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/validation"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// publishedSecrets are the Secrets of a control plane that are copied to the
// HostedCluster's namespace for its user.
var publishedSecrets = []struct {
	// suffix follows the cluster's name in the name of the user's Secret.
	suffix string
	// key is the key of the value in the user's Secret.
	key string
	// from returns the name of the Secret of the control plane and the key; the name
	// is empty while there is none.
	from func(*hyperv1.HostedControlPlane) (name, key string)
	// wanted reports whether a cluster has the Secret, or may have it.
	wanted func(*hyperv1.HostedCluster) bool
	// to is the field of the status that names the user's Secret.
	to func(*hyperv1.HostedClusterStatus) **corev1.LocalObjectReference
}{
	{
		suffix: "-admin-kubeconfig", key: kubeconfigKey, wanted: everyCluster,
		from: func(hcp *hyperv1.HostedControlPlane) (string, string) { return kubeconfigOf(hcp.Status.KubeConfig) },
		to:   func(st *hyperv1.HostedClusterStatus) **corev1.LocalObjectReference { return &st.KubeConfig },
	},
	{
		suffix: "-custom-admin-kubeconfig", key: kubeconfigKey,
		wanted: func(hc *hyperv1.HostedCluster) bool { return hc.Spec.KubeAPIServerDNSName != "" },
		from: func(hcp *hyperv1.HostedControlPlane) (string, string) {
			return kubeconfigOf(hcp.Status.CustomKubeconfig)
		},
		to: func(st *hyperv1.HostedClusterStatus) **corev1.LocalObjectReference { return &st.CustomKubeconfig },
	},
	{
		suffix: "-kubeadmin-password", key: passwordKey, wanted: everyCluster,
		from: func(hcp *hyperv1.HostedControlPlane) (string, string) {
			if hcp.Status.KubeadminPassword == nil {
				return "", ""
			}
			return hcp.Status.KubeadminPassword.Name, passwordKey
		},
		to: func(st *hyperv1.HostedClusterStatus) **corev1.LocalObjectReference { return &st.KubeadminPassword },
	},
}

func everyCluster(*hyperv1.HostedCluster) bool { return true }

const (
	kubeconfigKey = "kubeconfig"
	passwordKey   = "password"
)

func kubeconfigOf(ref *hyperv1.KubeconfigSecretRef) (name, key string) {
	if ref == nil {
		return "", ""
	}
	return ref.Name, ref.Key
}

// publishedSecretsSet is in the HostedCluster's namespace, which other clusters
// share.
func (s *scope) publishedSecretsSet() apply.Set {
	return apply.Set{Name: setPublishedSecrets, Namespace: s.hc.Namespace, Kinds: []client.ObjectList{&corev1.SecretList{}}, Parent: s.hc}
}

// ensurePublishedSecrets copies the Secrets that the control plane has, and deletes
// the copies of those that it no longer has.
func (r *Reconciler) ensurePublishedSecrets(ctx context.Context, s *scope) error {
	var wanted []client.Object
	for _, h := range publishedSecrets {
		name, key := "", ""
		if s.hcp != nil {
			name, key = h.from(s.hcp)
		}
		if name == "" {
			*h.to(&s.hc.Status) = nil
			continue
		}
		value, err := r.publishedSecret(ctx, s, name, key)
		if err != nil {
			return err
		}
		to := s.hc.Name + h.suffix
		*h.to(&s.hc.Status) = &corev1.LocalObjectReference{Name: to}
		wanted = append(wanted, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.hc.Namespace, Name: to, Annotations: s.plane.Annotations()},
			Type:       corev1.SecretTypeOpaque,
			Data:       map[string][]byte{h.key: value},
		})
	}
	_, err := r.apply.Apply(ctx, s.publishedSecretsSet(), wanted...)
	return err
}

func (r *Reconciler) publishedSecret(ctx context.Context, s *scope, name, key string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.plane.Name, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err), err == nil && len(secret.Data[key]) == 0:
		return nil, reconcile.Wait(0, hyperv1.KubeconfigWaitingForCreateReason, "Secret %s/%s, which the HostedControlPlane names, has no key %s yet", s.plane.Name, name, key)
	case err != nil:
		return nil, fmt.Errorf("getting Secret %s/%s: %w", s.plane.Name, name, err)
	}
	return secret.Data[key], nil
}

// publishedSecretConflicts finds another cluster that needs a Secret of the same
// name: a with a custom kubeconfig and a-custom both need a-custom-admin-kubeconfig.
// The cluster that has the Secret keeps it; while there is none, the older one gets
// it. A control plane that exists already runs without it.
func (r *Reconciler) publishedSecretConflicts(ctx context.Context, s *scope) (field.ErrorList, error) {
	var errs field.ErrorList
	for _, id := range byPublishedSecret(s.hc) {
		owner, err := r.conflictingCluster(ctx, s, id)
		if err != nil {
			return nil, err
		}
		if owner == "" {
			continue
		}
		conflict := validation.Errorf(hyperv1.InvalidConfigurationReason, field.NewPath("metadata", "name"), s.hc.Name,
			"Secret %s, in which the user of this cluster would find a kubeconfig, belongs to HostedCluster %s: create this cluster with another name, or leave out spec.kubeAPIServerDNSName of the one whose name is shorter", id, owner)
		if s.hcp != nil {
			s.tolerated = append(s.tolerated, conflict)
			continue
		}
		errs = append(errs, conflict)
	}
	return errs, nil
}

// conflictingCluster returns the other cluster to which the Secret belongs, empty if
// there is none.
func (r *Reconciler) conflictingCluster(ctx context.Context, s *scope, id string) (string, error) {
	var list hyperv1.HostedClusterList
	if err := r.Client.List(ctx, &list, client.MatchingFields{publishedSecretIndex: id}); err != nil {
		return "", fmt.Errorf("listing HostedClusters by %s: %w", publishedSecretIndex, err)
	}
	if len(list.Items) < 2 {
		return "", nil
	}
	namespace, name, _ := strings.Cut(id, "/")
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("getting Secret %s: %w", id, err)
	}
	owner := secret.Annotations[hyperv1.HostedClusterAnnotation]
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != s.hc.UID && (owner == clusterKey(other) || owner == "" && index.Older(other, s.hc)) {
			return clusterKey(other), nil
		}
	}
	return "", nil
}
