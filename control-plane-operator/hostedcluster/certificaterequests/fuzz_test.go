package certificaterequests

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/certificaterequests/requesttest"
)

// A serving certificate is approved only for the names and the addresses of the Machine of the node that asks.
func FuzzServingRequest(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	own := net.ParseIP(requesttest.NodeIP)
	f.Add(nodeUser+requesttest.NodeName, nodeUser+requesttest.NodeName, nodeGroup, requesttest.NodeName, []byte(own.To4()), "", []byte(nil))
	f.Add(nodeUser+requesttest.NodeName, nodeUser+requesttest.NodeName, nodeGroup, strings.ToUpper(requesttest.NodeName), []byte(own), "", []byte(nil))
	f.Add(nodeUser+"other", nodeUser+requesttest.NodeName, nodeGroup, "kubernetes.default.svc", []byte(net.IPv6loopback), "", []byte(nil))
	f.Add(nodeUser, nodeUser, "system:masters", "*.example.com", []byte{1}, "spiffe://a", []byte(nil))
	f.Add(nodeUser+requesttest.NodeName, nodeUser+requesttest.NodeName, nodeGroup, "", []byte(nil), "", requesttest.Serving(f, nil).Spec.Request)
	f.Add(nodeUser+requesttest.NodeName, "", "", "", []byte(nil), "", []byte("-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----"))
	f.Fuzz(func(t *testing.T, user, name, group, host string, address []byte, uri string, raw []byte) {
		if raw == nil {
			asks := &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: []string{group}}}
			if host != "" {
				asks.DNSNames = []string{host}
			}
			if address != nil {
				asks.IPAddresses = []net.IP{address}
			}
			if u, err := url.Parse(uri); err == nil && uri != "" {
				asks.URIs = []*url.URL{u}
			}
			der, err := x509.CreateCertificateRequest(rand.Reader, asks, key)
			if err != nil {
				return
			}
			raw = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
		}
		csr := requesttest.Serving(t, func(_ *x509.CertificateRequest, spec *certificatesv1.CertificateSigningRequestSpec) {
			spec.Username, spec.Request = user, raw
		})
		machines := []clusterv1.Machine{*requesttest.Machine("mine", requesttest.NodeName, requesttest.NodeIP, requesttest.NodeName), *requesttest.Machine("other", "other", "10.9.9.9", "other")}
		approved, why := servingMachine(csr, machines)
		if (approved == "") == (why == "") {
			t.Fatalf("approved %q, rejected %q", approved, why)
		}
		joiningMachine(csr, nil, machines, time.Unix(0, 0))
		if approved == "" {
			return
		}
		block, _ := pem.Decode(raw)
		asked, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		node := strings.TrimPrefix(user, nodeUser)
		for _, name := range asked.DNSNames {
			if !strings.EqualFold(name, node) {
				t.Errorf("%s may serve as %s", user, name)
			}
		}
		for _, ip := range asked.IPAddresses {
			if got, _ := netip.AddrFromSlice(ip); got.Unmap().String() != map[string]string{requesttest.NodeName: requesttest.NodeIP, "other": "10.9.9.9"}[node] {
				t.Errorf("%s may serve at %s", user, ip)
			}
		}
		if asked.Subject.CommonName != user || len(asked.Subject.Organization) != 1 || asked.Subject.Organization[0] != nodeGroup || len(asked.URIs) > 0 {
			t.Errorf("%s has a certificate for %+v", user, asked.Subject)
		}
	})
}
