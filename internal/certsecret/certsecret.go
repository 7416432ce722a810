// Package certsecret defines which Secret contains a certificate, an authority or a kubeconfig of a control plane.
//
// Each is known by a name. In control planes of earlier versions, and where users bring the certificates, it is the name of its own
// Secret. In new control planes, the certificates of one program share a Secret, because each Secret is a write to the management
// cluster:
//
//	own:     Secret kcm-server-tls                         tls.crt, tls.key, ca.crt
//	shared:  Secret kube-controller-manager-certificates   kcm-server-tls.tls.crt, kcm-server-tls.tls.key, kcm-server-tls.ca.crt
//
// The Secrets that users and other programs read are never shared, nor is client-signer, which users delete to revoke
// kubeconfigs. A Secret with keys of one program is not mounted by another one, and the authorities in Authorities are not
// mounted at all.
package certsecret

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// Shared Secrets, by the program that uses them.
const (
	// Authorities holds the authorities with keys that only the control-plane-operator reads.
	Authorities          = "certificate-authorities"
	KubeAPIServer        = "kube-apiserver-certificates"
	Etcd                 = "etcd-certificates"
	ControllerManager    = "kube-controller-manager-certificates"
	Scheduler            = "kube-scheduler-certificates"
	ControlPlaneOperator = "control-plane-operator-certificates"
)

// sharing maps the names of certificates, authorities and kubeconfigs to their shared Secrets.
var sharing = map[string]string{
	names.RootCA:                 Authorities,
	names.EtcdSigner:             Authorities,
	names.KonnectivitySigner:     Authorities,
	names.AggregatorClientSigner: Authorities,
	names.KubeletClientSigner:    Authorities,

	names.APIServerCertificate:        KubeAPIServer,
	names.APIServerPrivateCertificate: KubeAPIServer,
	names.AggregatorClientCertificate: KubeAPIServer,
	names.KubeletClientCertificate:    KubeAPIServer,
	names.KonnectivityCertificate:     KubeAPIServer,

	names.EtcdServerCertificate: Etcd,
	names.EtcdPeerCertificate:   Etcd,

	names.ControllerManagerCertificate: ControllerManager,
	names.ControllerManagerKubeconfig:  ControllerManager,

	names.SchedulerCertificate: Scheduler,
	names.SchedulerKubeconfig:  Scheduler,

	names.KonnectivityAgentCertificate:   ControlPlaneOperator,
	names.ControlPlaneOperatorKubeconfig: ControlPlaneOperator,
}

// SharedBy returns the name of the Secret that shares the certificate of that name with others, or "" if it always has its own.
func SharedBy(name string) string { return sharing[name] }

// Keys returns the keys that the own Secret of a certificate or kubeconfig has.
func Keys(name string) []string {
	switch name {
	case names.ControllerManagerKubeconfig, names.SchedulerKubeconfig, names.ControlPlaneOperatorKubeconfig:
		return []string{names.AdminKubeconfigFile}
	}
	return []string{pki.TrustKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey}
}

// Key returns the key in a shared Secret for a key in an own Secret.
func Key(name, key string) string { return name + "." + key }

// Put adds the data of a certificate to a shared Secret's data.
func Put(shared map[string][]byte, name string, data map[string][]byte) {
	for key, value := range data {
		shared[Key(name, key)] = value
	}
}

// Part returns one certificate's part of a shared Secret's data, under the keys of an own Secret. It returns nil without such
// a part.
func Part(shared map[string][]byte, name string) map[string][]byte {
	var part map[string][]byte
	for key, value := range shared {
		if partKey, ok := strings.CutPrefix(key, Key(name, "")); ok {
			if part == nil {
				part = map[string][]byte{}
			}
			part[partKey] = value
		}
	}
	return part
}

// AreShared reports whether a control plane that has these Secrets, by name, has shared ones or is new. Others are of an earlier
// version, or of a user, and keep their own Secrets: to mount others, all pods would have to restart.
func AreShared(secrets map[string]*corev1.Secret) bool {
	if secrets[Authorities] != nil {
		return true
	}
	for name, shared := range sharing {
		if shared == Authorities && secrets[name] != nil {
			return false
		}
	}
	return true
}

// Expand adds each certificate that is in a shared Secret, as if it had its own Secret.
func Expand(secrets map[string]*corev1.Secret) {
	for name, shared := range sharing {
		s := secrets[shared]
		if s == nil {
			continue
		}
		if part := Part(s.Data, name); part != nil {
			expanded := &corev1.Secret{ObjectMeta: s.ObjectMeta, Type: s.Type, Data: part}
			expanded.Name = name
			secrets[name] = expanded
		}
	}
}

// Get reads the certificate or kubeconfig of that name, as if it had its own Secret.
func Get(ctx context.Context, reader client.Reader, key client.ObjectKey, into *corev1.Secret) error {
	shared := sharing[key.Name]
	if shared == "" {
		return reader.Get(ctx, key, into)
	}
	secrets := map[string]*corev1.Secret{shared: {}}
	err := reader.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: shared}, secrets[shared])
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if Expand(secrets); secrets[key.Name] == nil {
		return reader.Get(ctx, key, into)
	}
	*into = *secrets[key.Name]
	return nil
}
