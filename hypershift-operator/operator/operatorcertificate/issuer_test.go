package operatorcertificate

import (
	"bytes"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hosted-control-planes/hypershift/internal/pki"
)

func secret(t *testing.T, i *Issuer, name string) *corev1.Secret {
	t.Helper()
	s := &corev1.Secret{}
	if err := i.Client.Get(t.Context(), client.ObjectKey{Namespace: i.Namespace, Name: name}, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func ensure(t *testing.T, i *Issuer) []byte {
	t.Helper()
	data, err := i.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return data[pki.TrustKey]
}

func newIssuer() (*Issuer, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	c := fake.NewClientBuilder().Build()
	return &Issuer{Client: c, Reader: c, Clock: clock, Namespace: "hypershift", Signer: "signer", Secret: "client", Wanted: pki.Request{User: "reader", Usage: pki.Client}}, clock
}

func TestTheCertificateIsRenewedAndTheAuthorityStays(t *testing.T) {
	i, clock := newIssuer()
	trust, first := ensure(t, i), secret(t, i, i.Secret)
	if again := ensure(t, i); !bytes.Equal(again, trust) || secret(t, i, i.Secret).ResourceVersion != first.ResourceVersion {
		t.Error("what is there is made again")
	}
	if len(first.Data[corev1.TLSPrivateKeyKey]) == 0 || !bytes.Equal(first.Data[pki.TrustKey], trust) {
		t.Errorf("the Secret has the keys %v", first.Data)
	}
	clock.Step(pki.DefaultTerms.Validity * 3 / 4)
	if again := ensure(t, i); !bytes.Equal(again, trust) {
		t.Error("another authority has taken its place")
	}
	if bytes.Equal(secret(t, i, i.Secret).Data[corev1.TLSCertKey], first.Data[corev1.TLSCertKey]) {
		t.Error("the certificate is not renewed")
	}
}

// The collector reads one of the Secrets, and must not be able to sign.
func TestTheCollectorsSecretHasNoKeyOfTheAuthority(t *testing.T) {
	i, _ := newIssuer()
	ensure(t, i)
	if bytes.Equal(secret(t, i, i.Secret).Data[corev1.TLSPrivateKeyKey], secret(t, i, i.Signer).Data[corev1.TLSPrivateKeyKey]) {
		t.Error("it has")
	}
}

func TestReplicasThatStartTogetherAgree(t *testing.T) {
	i, _ := newIssuer()
	var group sync.WaitGroup
	got := make([][]byte, 4)
	for n := range got {
		group.Go(func() {
			data, err := i.Ensure(t.Context())
			if err != nil {
				t.Error(err)
			}
			got[n] = data[pki.TrustKey]
		})
	}
	group.Wait()
	for _, trust := range got {
		if !bytes.Equal(trust, got[0]) {
			t.Fatal("two replicas trust different authorities")
		}
	}
}
