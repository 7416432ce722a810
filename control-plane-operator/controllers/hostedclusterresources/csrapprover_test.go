package hostedclusterresources

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"net/url"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

const (
	nodeName = "ip-10-0-1-7.ec2.internal"
	nodeIP   = "10.0.1.7"
)

// machine is the Machine of the node.
func machine(name, node string, addresses ...string) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	m.Status.NodeRef.Name = node
	for _, a := range addresses {
		m.Status.Addresses = append(m.Status.Addresses, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: a})
	}
	return m
}

// request is the request of a kubelet.
func request(t testing.TB, change func(*x509.CertificateRequest, *certificatesv1.CertificateSigningRequestSpec)) *certificatesv1.CertificateSigningRequest {
	asks := &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: nodeUser + nodeName, Organization: []string{nodeGroup}}, DNSNames: []string{nodeName}, IPAddresses: []net.IP{net.ParseIP(nodeIP)},
	}
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "csr-1"}, Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: certificatesv1.KubeletServingSignerName, Username: nodeUser + nodeName, Groups: []string{nodeGroup, "system:authenticated"},
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageServerAuth},
	}}
	if change != nil {
		change(asks, &csr.Spec)
	}
	if csr.Spec.Request != nil {
		return csr
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, asks, key)
	if err != nil {
		t.Fatal(err)
	}
	csr.Spec.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	return csr
}

// deleted is a machine with a deletion timestamp.
func deleted(m *clusterv1.Machine) *clusterv1.Machine {
	m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: time.Now()}, []string{clusterv1.MachineFinalizer}
	return m
}

// forge replaces the signature of a request: the client does not have the key.
func forge(csr *certificatesv1.CertificateSigningRequest) {
	block, _ := pem.Decode(csr.Spec.Request)
	block.Bytes[len(block.Bytes)-1] ^= 1
	csr.Spec.Request = pem.EncodeToMemory(block)
}

func TestServingCertificateRequests(t *testing.T) {
	itself := machine("workers-1", nodeName, nodeName, nodeIP)
	for name, c := range map[string]struct {
		change   func(*x509.CertificateRequest, *certificatesv1.CertificateSigningRequestSpec)
		machines []*clusterv1.Machine
		after    func(*certificatesv1.CertificateSigningRequest)
		why      string
	}{
		"a machine that is being deleted":                   {machines: []*clusterv1.Machine{deleted(machine("workers-1", nodeName, nodeName, nodeIP))}, why: "no Machine is node " + nodeName},
		"it is signed with another key":                     {machines: []*clusterv1.Machine{itself}, after: forge, why: "it cannot be read, or is not signed with its own key"},
		"a node asks for its own addresses":                 {machines: []*clusterv1.Machine{machine("other", "other"), itself}},
		"Cluster API has not reported the node yet":         {machines: []*clusterv1.Machine{machine("workers-1", "", nodeName, nodeIP)}},
		"another machine has the name, and is another node": {machines: []*clusterv1.Machine{machine("workers-1", "other", nodeName, nodeIP)}, why: "no Machine is node " + nodeName},
		"there is no such machine":                          {why: "no Machine is node " + nodeName},
		"an address that is somebody else's":                {machines: []*clusterv1.Machine{machine("workers-1", nodeName, nodeName)}, why: nodeIP + " is not an address of Machine workers-1"},
		"a name that is somebody else's": {machines: []*clusterv1.Machine{itself}, why: "kube-apiserver is not an address of Machine workers-1",
			change: func(r *x509.CertificateRequest, _ *certificatesv1.CertificateSigningRequestSpec) {
				r.DNSNames = []string{"kube-apiserver"}
			}},
		"one node asks for another": {machines: []*clusterv1.Machine{itself}, why: "its subject is not the requesting node",
			change: func(_ *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
				s.Username = nodeUser + "other"
			}},
		"a node asks to be more than a node": {machines: []*clusterv1.Machine{itself}, why: "its subject is not the requesting node",
			change: func(r *x509.CertificateRequest, _ *certificatesv1.CertificateSigningRequestSpec) {
				r.Subject.Organization = []string{nodeGroup, "system:masters"}
			}},
		"a node wants to be a client, too": {machines: []*clusterv1.Machine{itself}, why: "it is for more than server auth",
			change: func(_ *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
				s.Usages = append(s.Usages, certificatesv1.UsageClientAuth)
			}},
		"a user pretends": {machines: []*clusterv1.Machine{itself}, why: "it is not from a node",
			change: func(_ *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) { s.Groups = nil }},
		"it names nobody": {machines: []*clusterv1.Machine{itself}, why: "it has no host name or address",
			change: func(r *x509.CertificateRequest, _ *certificatesv1.CertificateSigningRequestSpec) {
				r.DNSNames, r.IPAddresses = nil, nil
			}},
		"it names a URI": {machines: []*clusterv1.Machine{itself}, why: "it has more than host names and addresses",
			change: func(r *x509.CertificateRequest, _ *certificatesv1.CertificateSigningRequestSpec) {
				r.URIs = []*url.URL{{Scheme: "spiffe", Host: "somebody"}}
			}},
		"it is for another signer": {machines: []*clusterv1.Machine{itself}, why: "it is for another signer",
			change: func(_ *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
				s.SignerName = "example.com/x"
			}},
		"it is not in PEM": {machines: []*clusterv1.Machine{itself}, why: "it is not in PEM",
			change: func(_ *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
				s.Request = []byte("x")
			}},
		"it is no request": {machines: []*clusterv1.Machine{itself}, why: "it cannot be read, or is not signed with its own key",
			change: func(_ *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
				s.Request = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: []byte("x")})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			var machines []clusterv1.Machine
			for _, m := range c.machines {
				machines = append(machines, *m)
			}
			csr := request(t, c.change)
			if c.after != nil {
				c.after(csr)
			}
			voucher, why := servingMachine(csr, machines)
			if why != c.why || (voucher == "workers-1") != (c.why == "") {
				t.Errorf("got %q because %q, want %q", voucher, why, c.why)
			}
		})
	}
}

func TestServingCertificateIsApprovedWhenTheMachineHasAddresses(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	w.must(w.hosted.Admin().Create(t.Context(), request(t, nil)))
	w.reconcileOnce()
	csr := &certificatesv1.CertificateSigningRequest{}
	if w.inside("", "csr-1", csr); len(csr.Status.Conditions) > 0 {
		t.Error("approved without a Machine")
	}
	if w.next > pollInterval {
		t.Errorf("comes back after %s", w.next)
	}
	w.must(w.Admin().Create(t.Context(), machine("workers-1", nodeName, nodeName, nodeIP)))
	w.reconcileOnce()
	if w.inside("", "csr-1", csr); len(csr.Status.Conditions) != 1 || csr.Status.Conditions[0].Type != certificatesv1.CertificateApproved {
		t.Errorf("got %+v", csr.Status.Conditions)
	}
	w.expectCondition(resourcesCondition, succeeded)
}
