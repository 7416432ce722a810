// Package publishedsecrets gives the user of a hosted cluster the Secrets that its
// control plane has for users: kubeconfigs, and the password of the first user. They
// are copied to the namespace of the HostedCluster, which other clusters share.
//
// The control-plane-operator labels these Secrets (names.PublishedLabel). Watch reports
// every change of them, so that users get a kubeconfig as soon as it is issued again.
package publishedsecrets

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// published are the Secrets of a control plane that are copied.
var published = []struct {
	// suffix follows the cluster's name in the name of the user's Secret.
	suffix string
	// key is the key of the value in the user's Secret.
	key string
	// from returns the name of the Secret of the control plane and the key; the name is empty while the Secret does not exist.
	from func(*hyperv1.HostedControlPlane) (name, key string)
	// wanted reports whether a cluster publishes the Secret, or may publish it.
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

// Set is the set of the user's Secrets. Its name is stored in their labels.
const Set = "handouts"

// Index finds HostedClusters by the Secrets that their users get, or may get.
const Index = "publishedSecret"

// IndexValues fills Index.
func IndexValues(obj client.Object) []string {
	hc := obj.(*hyperv1.HostedCluster)
	var secrets []string
	for _, p := range published {
		if p.wanted(hc) {
			secrets = append(secrets, hc.Namespace+"/"+hc.Name+p.suffix)
		}
	}
	return secrets
}

// IsSource reports whether a control plane publishes its Secret of that name.
func IsSource(hcp *hyperv1.HostedControlPlane, name string) bool {
	for _, p := range published {
		if source, _ := p.from(hcp); source == name {
			return true
		}
	}
	return false
}

// Watch reports every change of a Secret in the cache, which needs metadata only.
func Watch(c cache.Cache, requests handler.MapFunc) source.Source {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return source.Kind(c, client.Object(secret), handler.EnqueueRequestsFromMapFunc(requests))
}

// A Publisher copies Secrets. It has no state of its own.
type Publisher struct {
	Client client.Client
	// Reader reads the Secrets of control planes, which the cache does not have.
	Reader  client.Reader
	Applier *apply.Applier
}

// Publish copies the Secrets that the control plane has, deletes the copies of those
// that it no longer has, and names them in the status. hcp is nil if there is no
// control plane.
func (p Publisher) Publish(ctx context.Context, hc *hyperv1.HostedCluster, hcp *hyperv1.HostedControlPlane) error {
	plane := controlplane.NamespaceOf(hc)
	var wanted []client.Object
	for _, s := range published {
		name, key := "", ""
		if hcp != nil {
			name, key = s.from(hcp)
		}
		if name == "" {
			*s.to(&hc.Status) = nil
			continue
		}
		value, err := p.read(ctx, plane.Key(name), key)
		if err != nil {
			return err
		}
		to := hc.Name + s.suffix
		*s.to(&hc.Status) = &corev1.LocalObjectReference{Name: to}
		wanted = append(wanted, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: hc.Namespace, Name: to, Annotations: plane.Annotations()},
			Type:       corev1.SecretTypeOpaque,
			Data:       map[string][]byte{s.key: value},
		})
	}
	set := apply.Set{Name: Set, Namespace: hc.Namespace, Kinds: []client.ObjectList{&corev1.SecretList{}}, Parent: hc}
	_, err := p.Applier.Apply(ctx, set, wanted...)
	return err
}

func (p Publisher) read(ctx context.Context, from client.ObjectKey, key string) ([]byte, error) {
	secret := &corev1.Secret{}
	err := p.Reader.Get(ctx, from, secret)
	switch {
	case apierrors.IsNotFound(err), err == nil && len(secret.Data[key]) == 0:
		return nil, reconcile.Wait(0, hyperv1.KubeconfigWaitingForCreateReason, "Secret %s, which the HostedControlPlane names, has no key %s yet", from, key)
	case err != nil:
		return nil, fmt.Errorf("getting Secret %s: %w", from, err)
	}
	return secret.Data[key], nil
}

// Conflicts finds other clusters that need a Secret of the same name: a with a custom
// kubeconfig and a-custom both need a-custom-admin-kubeconfig. The cluster that owns the Secret keeps
// it; while the Secret does not exist, the older cluster gets it.
func (p Publisher) Conflicts(ctx context.Context, hc *hyperv1.HostedCluster) (field.ErrorList, error) {
	var errs field.ErrorList
	for _, id := range IndexValues(hc) {
		owner, err := p.conflictingCluster(ctx, hc, id)
		if err != nil {
			return nil, err
		}
		if owner != "" {
			errs = append(errs, validation.Errorf(hyperv1.InvalidConfigurationReason, field.NewPath("metadata", "name"), hc.Name,
				"Secret %s, in which the user of this cluster would find a kubeconfig, belongs to HostedCluster %s: create this cluster with another name, or leave out spec.kubeAPIServerDNSName of the one whose name is shorter", id, owner))
		}
	}
	return errs, nil
}

// conflictingCluster returns the other cluster to which the Secret belongs, empty without a conflict.
func (p Publisher) conflictingCluster(ctx context.Context, hc *hyperv1.HostedCluster, id string) (string, error) {
	var list hyperv1.HostedClusterList
	if err := p.Client.List(ctx, &list, client.MatchingFields{Index: id}); err != nil {
		return "", fmt.Errorf("listing HostedClusters by %s: %w", Index, err)
	}
	if len(list.Items) < 2 {
		return "", nil
	}
	namespace, name, _ := strings.Cut(id, "/")
	secret := &corev1.Secret{}
	err := p.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("getting Secret %s: %w", id, err)
	}
	owner := secret.Annotations[hyperv1.HostedClusterAnnotation]
	for i := range list.Items {
		other := &list.Items[i]
		key := client.ObjectKeyFromObject(other).String()
		if other.UID != hc.UID && (owner == key || owner == "" && index.Older(other, hc)) {
			return key, nil
		}
	}
	return "", nil
}
