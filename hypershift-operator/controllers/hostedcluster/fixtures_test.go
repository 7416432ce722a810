package hostedcluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const (
	somePublicKey  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGRlbW9kZW1vZGVtb2RlbW9kZW1vZGVtb2RlbW9kZW1v me@example.com"
	someKubeconfig = `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: b, user: c}}], clusters: [{name: b, cluster: {server: "https://audit.example.com"}}], users: [{name: c, user: {token: secret}}]}`
)

// asUser is a kubeconfig with another user.
func asUser(user string) string { return strings.Replace(someKubeconfig, "token: secret", user, 1) }

// certificate is a self-signed one for these names, and its key.
func certificate(until time.Time, hosts ...string) (cert, key []byte) {
	must := func(err error) {
		if err != nil {
			panic(err) // the input is constant
		}
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: hosts,
		NotBefore: until.Add(-24 * time.Hour), NotAfter: until, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	must(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// publish changes how a service is published.
func publish(hc *hyperv1.HostedCluster, svc hyperv1.ServiceType, how hyperv1.PublishingStrategyType, host string) {
	p := hyperv1.ServicePublishingStrategy{Type: how}
	if how == hyperv1.Route && host != "" {
		p.Route = &hyperv1.RoutePublishingStrategy{Hostname: host}
	}
	for i := range hc.Spec.Services {
		if hc.Spec.Services[i].Service == svc {
			hc.Spec.Services[i].ServicePublishingStrategy = p
		}
	}
}

func kms(in string) *hyperv1.SecretEncryptionSpec {
	return &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: hyperv1.AWSKMS, AWS: &hyperv1.AWSKMSSpec{
		Region: in, ActiveKey: hyperv1.AWSKMSKeyEntry{ARN: "arn:aws:kms:us-east-1:222222222222:key/1"},
		Auth: hyperv1.AWSKMSAuthSpec{AWSKMSRoleARN: "arn:aws:iam::222222222222:role/kms"},
	}}}
}
