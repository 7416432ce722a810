package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	certificatesv1alpha1 "github.com/hosted-control-planes/hypershift/api/certificates/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// Both operators together give access in an emergency, and begin to revoke it. No API server runs here that could refuse a certificate.
func TestAccessInAnEmergency(t *testing.T) {
	c := newCluster(t, hyperv1.Public)
	c.start()
	plane := c.controlPlane()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.CustomerBreakGlassSigner}}
	eventually(t.Context(), t, "the control plane has an authority for emergencies", func() error {
		return kube.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)
	})
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	c.must(err)
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: names.BreakGlassUserPrefix + "alice", Organization: []string{names.SuperuserGroup}},
	}, key)
	c.must(err)
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: plane},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: names.BreakGlassSignerName(plane), Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		},
	}
	c.create(csr)
	c.create(&certificatesv1alpha1.CertificateSigningRequestApproval{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: csr.Name}})
	eventually(t.Context(), t, "the approved request has a certificate of the authority", func() error {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(csr), csr); err != nil {
			return err
		}
		certs, err := pki.ParseBundle(csr.Status.Certificate)
		if err != nil {
			return fmt.Errorf("the status is %+v: %w", csr.Status, err)
		}
		authority, err := pki.ParseBundle(secret.Data[corev1.TLSCertKey])
		if err != nil {
			return err
		}
		return certs[0].CheckSignatureFrom(authority[0])
	})

	crr := &certificatesv1alpha1.CertificateRevocationRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "leaked"}, Spec: certificatesv1alpha1.CertificateRevocationRequestSpec{SignerClass: certificatesv1alpha1.CustomerBreakGlass},
	}
	c.create(crr)
	eventually(t.Context(), t, "a new authority waits for the API servers", func() error {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(crr), crr); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(crr.Status.Conditions, certificatesv1alpha1.RootCertificatesRegenerated) || crr.Status.PreviousSigner == nil {
			return fmt.Errorf("the status is %+v", crr.Status)
		}
		trusted := meta.FindStatusCondition(crr.Status.Conditions, certificatesv1alpha1.NewCertificatesTrusted)
		if trusted == nil || trusted.Message != "no pod of kube-apiserver runs" {
			return fmt.Errorf("the condition is %+v", trusted)
		}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		signer, err := pki.DecodeSigner(secret.Data)
		if err == nil && (signer.Next == nil || signer.Revoked(string(crr.UID))) {
			err = errors.New("the next authority signs before an API server trusts it")
		}
		return err
	})
	c.must(client.IgnoreNotFound(kube.Delete(t.Context(), csr)))
}
