package certificaterequests

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/certificaterequests/requesttest"
)

func TestServingCertificateRequests(t *testing.T) {
	itself := requesttest.Machine("workers-1", requesttest.NodeName, requesttest.NodeName, requesttest.NodeIP)
	for name, c := range map[string]struct {
		change   func(*x509.CertificateRequest, *certificatesv1.CertificateSigningRequestSpec)
		machines []*clusterv1.Machine
		after    func(*certificatesv1.CertificateSigningRequest)
		why      string
	}{
		"a machine that is being deleted":                   {machines: []*clusterv1.Machine{requesttest.Deleted(requesttest.Machine("workers-1", requesttest.NodeName, requesttest.NodeName, requesttest.NodeIP))}, why: "no Machine is node " + requesttest.NodeName},
		"it is signed with another key":                     {machines: []*clusterv1.Machine{itself}, after: requesttest.Forge, why: "it cannot be read, or is not signed with its own key"},
		"a node asks for its own addresses":                 {machines: []*clusterv1.Machine{requesttest.Machine("other", "other"), itself}},
		"Cluster API has not reported the node yet":         {machines: []*clusterv1.Machine{requesttest.Machine("workers-1", "", requesttest.NodeName, requesttest.NodeIP)}},
		"another machine has the name, and is another node": {machines: []*clusterv1.Machine{requesttest.Machine("workers-1", "other", requesttest.NodeName, requesttest.NodeIP)}, why: "no Machine is node " + requesttest.NodeName},
		"there is no such machine":                          {why: "no Machine is node " + requesttest.NodeName},
		"an address that is somebody else's":                {machines: []*clusterv1.Machine{requesttest.Machine("workers-1", requesttest.NodeName, requesttest.NodeName)}, why: requesttest.NodeIP + " is not an address of Machine workers-1"},
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
			csr := requesttest.Serving(t, c.change)
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

func TestMachinesThatMayJoin(t *testing.T) {
	now := time.Now()
	token := func(id, bootstrap string) corev1.Secret {
		return corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "token-" + id, Labels: map[string]string{hyperv1.BootstrapTokenLabel: bootstrap}}, Type: corev1.SecretTypeBootstrapToken,
			Data: map[string][]byte{
				bootstrapapi.BootstrapTokenIDKey:         []byte(id),
				bootstrapapi.BootstrapTokenExpirationKey: []byte(time.Now().Add(time.Hour).UTC().Format(time.RFC3339)),
			},
		}
	}
	own, others := token(requesttest.TokenID, "workers-a"), token("ghijkl", "workers-b")
	itself, other := requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName), requesttest.Waiting("workers-2", "workers-b", requesttest.OtherNode)
	type spec = certificatesv1.CertificateSigningRequestSpec
	for name, c := range map[string]struct {
		change   func(*x509.CertificateRequest, *spec)
		after    func(*certificatesv1.CertificateSigningRequest)
		tokens   []corev1.Secret
		machines []*clusterv1.Machine
		why      string
	}{
		"a machine asks for its own certificate":   {},
		"its token was renewed and is still valid": {tokens: []corev1.Secret{own, token("zzzzzz", "workers-a")}},
		"the machine waited a day for capacity":    {machines: []*clusterv1.Machine{requesttest.Since(requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName), now.Add(-24*time.Hour), now.Add(-time.Minute))}},
		"the token of one machine asks for the node of another": {why: requesttest.OtherNode + " is not a name of Machine workers-1, which has [" + requesttest.NodeName + "]",
			change: func(r *x509.CertificateRequest, _ *spec) { r.Subject.CommonName = nodeUser + requesttest.OtherNode }},
		"an address is not a name": {why: requesttest.NodeIP + " is not a name of Machine workers-1, which has [" + requesttest.NodeName + "]",
			change: func(r *x509.CertificateRequest, _ *spec) { r.Subject.CommonName = nodeUser + requesttest.NodeIP }},
		"the addresses of the machine are not known yet": {machines: []*clusterv1.Machine{requesttest.Waiting("workers-1", "workers-a", "")}, why: requesttest.NodeName + " is not a name of Machine workers-1, which has []"},
		"the machine has joined":                         {machines: []*clusterv1.Machine{requesttest.Joined(requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName), requesttest.NodeName)}, why: "Machine workers-1 has joined as node " + requesttest.NodeName},
		"the machine is being deleted":                   {machines: []*clusterv1.Machine{requesttest.Deleted(requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName))}, why: "Machine workers-1 is being deleted"},
		"the machine is there for hours":                 {machines: []*clusterv1.Machine{requesttest.Since(requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName), now.Add(-3*time.Hour), now.Add(-3*time.Hour))}, why: "Machine workers-1 has not joined within 2h0m0s"},
		"the token was taken back":                       {tokens: []corev1.Secret{others}, why: "no Machine has the token abcdef"},
		"the token is no token of ours": {why: "no Machine has the token stolen",
			change: func(_ *x509.CertificateRequest, s *spec) { s.Username = bootstrapapi.BootstrapUserPrefix + "stolen" }},
		"its machine is gone":       {machines: []*clusterv1.Machine{other}, why: "no Machine has the token abcdef"},
		"two machines have a token": {machines: []*clusterv1.Machine{itself, requesttest.Waiting("workers-3", "workers-a", requesttest.NodeName)}, why: "no Machine has the token abcdef"},
		"a user asks": {why: "it is not from a bootstrap token",
			change: func(_ *x509.CertificateRequest, s *spec) { s.Username = "jane" }},
		"a user has the name of a token": {why: "it is not from a bootstrap token",
			change: func(_ *x509.CertificateRequest, s *spec) { s.Groups = []string{"system:authenticated"} }},
		"a node asks": {why: "it is not from a bootstrap token",
			change: func(_ *x509.CertificateRequest, s *spec) {
				s.Username, s.Groups = nodeUser+requesttest.OtherNode, []string{nodeGroup}
			}},
		"it asks to be more than a node": {why: "its subject is not a node",
			change: func(r *x509.CertificateRequest, _ *spec) {
				r.Subject.Organization = []string{nodeGroup, "system:masters"}
			}},
		"it asks to be an administrator": {why: "its subject is not a node",
			change: func(r *x509.CertificateRequest, _ *spec) { r.Subject.CommonName = "kubernetes-admin" }},
		"it asks to be no node": {why: "its subject is not a node",
			change: func(r *x509.CertificateRequest, _ *spec) { r.Subject.CommonName = nodeUser }},
		"it wants to be a server, too": {why: "it is for more than client auth",
			change: func(_ *x509.CertificateRequest, s *spec) { s.Usages = append(s.Usages, certificatesv1.UsageServerAuth) }},
		"it names hosts": {why: "it has more than the name of the node",
			change: func(r *x509.CertificateRequest, _ *spec) { r.IPAddresses = []net.IP{net.ParseIP(requesttest.NodeIP)} }},
		"it is for another signer": {why: "it is for another signer",
			change: func(_ *x509.CertificateRequest, s *spec) {
				s.SignerName = certificatesv1.KubeAPIServerClientSignerName
			}},
		"it is signed with another key": {after: requesttest.Forge, why: "it cannot be read, or is not signed with its own key"},
	} {
		t.Run(name, func(t *testing.T) {
			tokens, machines := c.tokens, []clusterv1.Machine{*other}
			if tokens == nil {
				tokens = []corev1.Secret{others, own}
			}
			for _, m := range c.machines {
				machines = append(machines, *m)
			}
			if c.machines == nil {
				machines = append(machines, *itself)
			}
			csr := requesttest.Joining(t, c.change)
			if c.after != nil {
				c.after(csr)
			}
			got, why := joiningMachine(csr, tokens, machines, time.Now())
			if why != c.why {
				t.Fatalf("because %q, want %q", why, c.why)
			}
			if why == "" && (got.machine.Name != "workers-1" || got.node != requesttest.NodeName || got.key == "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestNodesOnDemandThatMayJoin(t *testing.T) {
	now := time.Now()
	at := func(name, node string) clusterv1.Machine {
		m := requesttest.Waiting(name, "", node)
		m.Spec.Bootstrap = clusterv1.Bootstrap{}
		return *m
	}
	for name, c := range map[string]struct {
		machines []clusterv1.Machine
		why      string
	}{
		"an instance of a NodeClaim":        {[]clusterv1.Machine{at("a", requesttest.NodeName), at("b", requesttest.OtherNode)}, ""},
		"no instance has the name":          {[]clusterv1.Machine{at("b", requesttest.OtherNode)}, "no NodeClaim has a running instance " + requesttest.NodeName},
		"it has joined":                     {[]clusterv1.Machine{*requesttest.Joined(ptrTo(at("a", requesttest.NodeName)), requesttest.NodeName)}, "Machine a has joined as node " + requesttest.NodeName},
		"two NodeClaims claim the instance": {[]clusterv1.Machine{at("a", requesttest.NodeName), at("b", requesttest.NodeName)}, "two NodeClaims have the instance " + requesttest.NodeName},
		"it was launched long ago":          {[]clusterv1.Machine{*requesttest.Since(ptrTo(at("a", requesttest.NodeName)), now.Add(-3*time.Hour), now.Add(-3*time.Hour))}, fmt.Sprintf("Machine a has not joined within %s", joinWithin)},
	} {
		t.Run(name, func(t *testing.T) {
			got, why := joiningOnDemand(requesttest.Joining(t, nil), c.machines, time.Now())
			if why != c.why || (why == "") != (got.machine != nil) {
				t.Errorf("%q (%v), want %q", why, got.machine, c.why)
			}
		})
	}
}

func ptrTo(m clusterv1.Machine) *clusterv1.Machine { return &m }
