package certificates

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// addSecret adds a desired Secret, or adds data to a shared Secret, and records whether it differs from the existing Secret.
func (p *plan) addSecret(objects *[]client.Object, name string, kind corev1.SecretType, labels map[string]string, data map[string][]byte) {
	for key, value := range data {
		p.differs = p.differs || !bytes.Equal(value, p.there.secrets[name][key])
	}
	shared := certsecret.SharedBy(name)
	if shared == "" || !p.there.shared {
		*objects = append(*objects, &corev1.Secret{ObjectMeta: p.meta(name, labels), Type: kind, Data: data})
		return
	}
	if p.shared[shared] == nil {
		p.shared[shared] = &corev1.Secret{ObjectMeta: p.meta(shared, nil), Type: corev1.SecretTypeOpaque, Data: map[string][]byte{}}
		*objects = append(*objects, p.shared[shared])
	}
	certsecret.Put(p.shared[shared].Data, name, data)
}

// place returns, for messages, the Secret of the named authority, and the content that a user deletes to get a new authority.
func (p *plan) place(name string) (secret, content string) {
	if shared := certsecret.SharedBy(name); shared != "" && p.there.shared {
		return "Secret " + shared, fmt.Sprintf("its keys %s", certsecret.Key(name, "*"))
	}
	return "Secret " + name, "the Secret"
}

// bundle adds a desired ConfigMap.
func (p *plan) bundle(b bundle) {
	var trust []byte
	for _, signer := range b.of {
		trust = append(trust, p.current[signer].Trust()...)
	}
	p.differs = p.differs || string(trust) != p.there.configMaps[b.name][pki.TrustKey]
	if !certsecret.IsSharedBundle(b.name) || !p.there.shared {
		p.objects = append(p.objects, &corev1.ConfigMap{ObjectMeta: p.meta(b.name, nil), Data: map[string]string{pki.TrustKey: string(trust)}})
		return
	}
	if p.sharedBundles == nil {
		p.sharedBundles = &corev1.ConfigMap{ObjectMeta: p.meta(certsecret.Bundles, nil), Data: map[string]string{}}
		p.objects = append(p.objects, p.sharedBundles)
	}
	p.sharedBundles.Data[certsecret.Key(b.name, pki.TrustKey)] = string(trust)
}

func (p *plan) meta(name string, labels map[string]string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: p.hcp.Namespace, Name: name, Labels: labels}
	if cluster := p.hcp.Annotations[hyperv1.HostedClusterAnnotation]; cluster != "" {
		m.Annotations = map[string]string{hyperv1.HostedClusterAnnotation: cluster}
	}
	return m
}

// userServingCertificates returns the users' serving certificates of the API server. A certificate that cannot be parsed is reported by
// another controller.
func (p *plan) userServingCertificates() []byte {
	if p.hcp.Spec.Configuration == nil || p.hcp.Spec.Configuration.APIServer == nil {
		return nil
	}
	var out []byte
	for _, named := range p.hcp.Spec.Configuration.APIServer.ServingCerts.NamedCertificates {
		certs, err := pki.ParseBundle(p.there.secrets[named.ServingCertificate.Name][corev1.TLSCertKey])
		if err == nil {
			out = append(out, pki.Bundle(certs...)...)
		}
	}
	return out
}

// kubeadmin adds the password of the first user, which is generated once.
func (p *plan) kubeadmin() error {
	if !p.facts.KubeadminPassword {
		return nil
	}
	password := p.there.secrets[names.KubeadminPassword][names.KubeadminPasswordFile]
	if len(password) == 0 {
		generated, err := newPassword()
		if err != nil {
			return err
		}
		password = []byte(generated)
	}
	p.addSecret(&p.objects, names.KubeadminPassword, corev1.SecretTypeOpaque, published(), map[string][]byte{names.KubeadminPasswordFile: password})
	return nil
}
