// Package controlplane describes the namespace of a control plane and the objects
// that the hypershift-operator creates in it.
package controlplane

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apply"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A Namespace is the namespace of a HostedCluster's control plane.
type Namespace struct {
	Name string
	// Cluster is the HostedCluster.
	Cluster client.ObjectKey
}

// NamespaceOf returns the namespace of a HostedCluster's control plane.
func NamespaceOf(hc *hyperv1.HostedCluster) Namespace {
	return Namespace{Name: names.ControlPlaneNamespace(hc.Namespace, hc.Name), Cluster: client.ObjectKeyFromObject(hc)}
}

// Owns reports whether a namespace was created for this HostedCluster: another one
// of the same name has another UID.
func Owns(hc *hyperv1.HostedCluster, ns *corev1.Namespace) bool {
	return ns.Labels[hyperv1.HostedClusterUIDLabel] == string(hc.UID)
}

// Key returns the key of an object in the namespace.
func (n Namespace) Key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: n.Name, Name: name}
}

// Annotations name the HostedCluster, so that a change of the object triggers a
// reconcile of the HostedCluster. The map is new at each call.
func (n Namespace) Annotations() map[string]string {
	return map[string]string{hyperv1.HostedClusterAnnotation: n.Cluster.String()}
}

// ObjectMeta returns the metadata of an object in the namespace.
func (n Namespace) ObjectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: n.Name, Name: name, Annotations: n.Annotations()}
}

// Secret returns a Secret in the namespace.
func (n Namespace) Secret(name string, kind corev1.SecretType, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: n.ObjectMeta(name), Type: kind, Data: data}
}

// Set is a group of objects of these kinds in the namespace.
func (n Namespace) Set(name string, kinds ...client.ObjectList) apply.Set {
	return apply.Set{Name: name, Namespace: n.Name, Kinds: kinds}
}
