package hostedcluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// handouts are the Secrets of a control plane that the user gets, beside the
// HostedCluster.
var handouts = []struct {
	// suffix is what follows the cluster's name in the name of the user's Secret.
	suffix string
	// key is where the user finds the value.
	key string
	// from says which Secret of the control plane has it, under which key. The
	// name is empty while there is none.
	from func(*hyperv1.HostedControlPlane) (name, key string)
	// wanted tells whether a cluster gets it, or may.
	wanted func(*hyperv1.HostedCluster) bool
	// to is where the status names the user's Secret.
	to func(*hyperv1.HostedClusterStatus) **corev1.LocalObjectReference
}{
	{
		suffix: "-admin-kubeconfig", key: kubeconfigKey, wanted: always,
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
		suffix: "-kubeadmin-password", key: passwordKey, wanted: always,
		from: func(hcp *hyperv1.HostedControlPlane) (string, string) {
			if hcp.Status.KubeadminPassword == nil {
				return "", ""
			}
			return hcp.Status.KubeadminPassword.Name, passwordKey
		},
		to: func(st *hyperv1.HostedClusterStatus) **corev1.LocalObjectReference { return &st.KubeadminPassword },
	},
}

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

// handoutsSet is in the user's namespace, where other clusters have theirs.
func (s *scope) handoutsSet() apply.Set {
	return apply.Set{Name: setHandouts, Namespace: s.hc.Namespace, Kinds: []client.ObjectList{&corev1.SecretList{}}, Parent: s.hc}
}

// ensureHandouts gives the user what the control plane has made for him, and
// takes back what it has not any more.
func (r *Reconciler) ensureHandouts(ctx context.Context, s *scope) error {
	var wanted []client.Object
	for _, h := range handouts {
		name, key := "", ""
		if s.hcp != nil {
			name, key = h.from(s.hcp)
		}
		if name == "" {
			*h.to(&s.hc.Status) = nil
			continue
		}
		value, err := r.handout(ctx, s, name, key)
		if err != nil {
			return err
		}
		to := s.hc.Name + h.suffix
		*h.to(&s.hc.Status) = &corev1.LocalObjectReference{Name: to}
		wanted = append(wanted, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.hc.Namespace, Name: to, Annotations: s.ownerAnnotations()},
			Type:       corev1.SecretTypeOpaque,
			Data:       map[string][]byte{h.key: value},
		})
	}
	_, err := r.apply.Apply(ctx, s.handoutsSet(), wanted...)
	return err
}

func (r *Reconciler) handout(ctx context.Context, s *scope, name, key string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: s.controlPlane, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err), err == nil && len(secret.Data[key]) == 0:
		return nil, reconcile.Wait(0, hyperv1.KubeconfigWaitingForCreateReason, "Secret %s/%s, which the HostedControlPlane names, has no key %s yet", s.controlPlane, name, key)
	case err != nil:
		return nil, fmt.Errorf("getting Secret %s/%s: %w", s.controlPlane, name, err)
	}
	return secret.Data[key], nil
}

// handoutConflicts finds another cluster that wants a Secret of the same name:
// a with a custom kubeconfig and a-custom both want a-custom-admin-kubeconfig.
// Who has the Secret keeps it; as long as there is none, the older one gets it.
// A control plane that exists already goes on without it.
func (r *Reconciler) handoutConflicts(ctx context.Context, s *scope) ([]problem, error) {
	var problems []problem
	for _, id := range byHandout(s.hc) {
		owner, err := r.rivalFor(ctx, s, id)
		if err != nil {
			return nil, err
		}
		if owner == "" {
			continue
		}
		p := problemf(hyperv1.InvalidConfigurationReason,
			"Secret %s, in which the user of this cluster would find a kubeconfig, belongs to HostedCluster %s: create this cluster with another name, or leave out spec.kubeAPIServerDNSName of the one whose name is shorter", id, owner)
		if s.hcp != nil {
			s.refused = append(s.refused, p)
			continue
		}
		problems = append(problems, p)
	}
	return problems, nil
}

// rivalFor names the other cluster to which the Secret belongs, empty if there is none.
func (r *Reconciler) rivalFor(ctx context.Context, s *scope, id string) (string, error) {
	var list hyperv1.HostedClusterList
	if err := r.Client.List(ctx, &list, client.MatchingFields{handoutIndex: id}); err != nil {
		return "", fmt.Errorf("listing HostedClusters by %s: %w", handoutIndex, err)
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
