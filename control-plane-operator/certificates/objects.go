package certificates

import (
	"bytes"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// secret returns a desired Secret, and records whether it differs from the existing one.
func (p *plan) secret(name string, kind corev1.SecretType, labels map[string]string, data map[string][]byte) *corev1.Secret {
	for key, value := range data {
		p.differs = p.differs || !bytes.Equal(value, p.there.secrets[name][key])
	}
	return &corev1.Secret{ObjectMeta: p.meta(name, labels), Type: kind, Data: data}
}

// bundle adds a desired ConfigMap.
func (p *plan) bundle(b bundle) {
	var trust []byte
	for _, signer := range b.of {
		trust = append(trust, p.current[signer].Trust()...)
	}
	p.objects = append(p.objects, &corev1.ConfigMap{ObjectMeta: p.meta(b.name, nil), Data: map[string]string{pki.TrustKey: string(trust)}})
	p.differs = p.differs || string(trust) != p.there.configMaps[b.name][pki.TrustKey]
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
		made, err := newPassword()
		if err != nil {
			return err
		}
		password = []byte(made)
	}
	p.objects = append(p.objects, p.secret(names.KubeadminPassword, corev1.SecretTypeOpaque, nil, map[string][]byte{names.KubeadminPasswordFile: password}))
	return nil
}
