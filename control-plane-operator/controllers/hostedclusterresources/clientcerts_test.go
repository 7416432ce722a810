package hostedclusterresources

import (
	"crypto/x509"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

const (
	tokenID   = "abcdef"
	otherNode = "ip-10-0-1-8.ec2.internal"
)

// joins is the request of a kubelet with a bootstrap token.
func joins(t testing.TB, change func(*x509.CertificateRequest, *certificatesv1.CertificateSigningRequestSpec)) *certificatesv1.CertificateSigningRequest {
	return request(t, func(r *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
		r.DNSNames, r.IPAddresses = nil, nil
		s.SignerName, s.Username = certificatesv1.KubeAPIServerClientKubeletSignerName, bootstrapapi.BootstrapUserPrefix+tokenID
		s.Groups = []string{bootstrapapi.BootstrapDefaultGroup, "system:bootstrappers:workers", "system:authenticated"}
		s.Usages = []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
		if change != nil {
			change(r, s)
		}
	})
}

// waiting is a machine that has not joined and whose instance has a name inside the VPC.
func waiting(name, bootstrap, node string) *clusterv1.Machine {
	m := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name), CreationTimestamp: metav1.Now()}}
	m.Spec.Bootstrap.ConfigRef = clusterv1.ContractVersionedObjectReference{APIGroup: hyperv1.GroupVersion.Group, Kind: "NodeBootstrap", Name: bootstrap}
	if node != "" {
		m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: nodeIP}, {Type: clusterv1.MachineInternalDNS, Address: node}}
	}
	return m
}

func joined(m *clusterv1.Machine, node string) *clusterv1.Machine {
	m.Status.NodeRef.Name = node
	return m
}

// since is a machine of this age, whose instance has been ready for this time.
func since(m *clusterv1.Machine, made, ready time.Duration) *clusterv1.Machine {
	m.CreationTimestamp = metav1.NewTime(time.Now().Add(-made))
	m.Status.Conditions = []metav1.Condition{{Type: clusterv1.InfrastructureReadyCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(time.Now().Add(-ready))}}
	return m
}

func TestMachinesThatMayJoin(t *testing.T) {
	w := newTestEnv(t)
	token := func(id, bootstrap string) corev1.Secret {
		s := w.token(id)
		s.Labels[hyperv1.BootstrapTokenLabel] = bootstrap
		return *s
	}
	own, others := token(tokenID, "workers-a"), token("ghijkl", "workers-b")
	itself, other := waiting("workers-1", "workers-a", nodeName), waiting("workers-2", "workers-b", otherNode)
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
		"the machine waited a day for capacity":    {machines: []*clusterv1.Machine{since(waiting("workers-1", "workers-a", nodeName), 24*time.Hour, time.Minute)}},
		"the token of one machine asks for the node of another": {why: otherNode + " is not a name of Machine workers-1, which has [" + nodeName + "]",
			change: func(r *x509.CertificateRequest, _ *spec) { r.Subject.CommonName = nodeUser + otherNode }},
		"an address is not a name": {why: nodeIP + " is not a name of Machine workers-1, which has [" + nodeName + "]",
			change: func(r *x509.CertificateRequest, _ *spec) { r.Subject.CommonName = nodeUser + nodeIP }},
		"the addresses of the machine are not known yet": {machines: []*clusterv1.Machine{waiting("workers-1", "workers-a", "")}, why: nodeName + " is not a name of Machine workers-1, which has []"},
		"the machine has joined":                         {machines: []*clusterv1.Machine{joined(waiting("workers-1", "workers-a", nodeName), nodeName)}, why: "Machine workers-1 has joined as node " + nodeName},
		"the machine is being deleted":                   {machines: []*clusterv1.Machine{deleted(waiting("workers-1", "workers-a", nodeName))}, why: "Machine workers-1 is being deleted"},
		"the machine is there for hours":                 {machines: []*clusterv1.Machine{since(waiting("workers-1", "workers-a", nodeName), 3*time.Hour, 3*time.Hour)}, why: "Machine workers-1 has not joined within 2h0m0s"},
		"the token was taken back":                       {tokens: []corev1.Secret{others}, why: "no Machine has the token abcdef"},
		"the token is no token of ours": {why: "no Machine has the token stolen",
			change: func(_ *x509.CertificateRequest, s *spec) { s.Username = bootstrapapi.BootstrapUserPrefix + "stolen" }},
		"its machine is gone":       {machines: []*clusterv1.Machine{other}, why: "no Machine has the token abcdef"},
		"two machines have a token": {machines: []*clusterv1.Machine{itself, waiting("workers-3", "workers-a", nodeName)}, why: "no Machine has the token abcdef"},
		"a user asks": {why: "it is not from a bootstrap token",
			change: func(_ *x509.CertificateRequest, s *spec) { s.Username = "jane" }},
		"a user has the name of a token": {why: "it is not from a bootstrap token",
			change: func(_ *x509.CertificateRequest, s *spec) { s.Groups = []string{"system:authenticated"} }},
		"a node asks": {why: "it is not from a bootstrap token",
			change: func(_ *x509.CertificateRequest, s *spec) {
				s.Username, s.Groups = nodeUser+otherNode, []string{nodeGroup}
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
			change: func(r *x509.CertificateRequest, _ *spec) { r.IPAddresses = []net.IP{net.ParseIP(nodeIP)} }},
		"it is for another signer": {why: "it is for another signer",
			change: func(_ *x509.CertificateRequest, s *spec) {
				s.SignerName = certificatesv1.KubeAPIServerClientSignerName
			}},
		"it is signed with another key": {after: forge, why: "it cannot be read, or is not signed with its own key"},
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
			csr := joins(t, c.change)
			if c.after != nil {
				c.after(csr)
			}
			got, why := joiningMachine(csr, tokens, machines, time.Now())
			if why != c.why {
				t.Fatalf("because %q, want %q", why, c.why)
			}
			if why == "" && (got.machine.Name != "workers-1" || got.node != nodeName || got.key == "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// ask creates a request and reconciles.
func (w *testEnv) ask(name string, csr *certificatesv1.CertificateSigningRequest) {
	w.t.Helper()
	csr.Name = name
	csr.CreationTimestamp = metav1.NewTime(w.clock.Now())
	w.must(w.hosted.Admin().Create(w.t.Context(), csr))
	w.reconcileOnce()
}

func (w *testEnv) approved(name string) bool {
	w.t.Helper()
	csr := &certificatesv1.CertificateSigningRequest{}
	if !w.inside("", name, csr) {
		w.t.Fatalf("there is no request %s", name)
	}
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateApproved
	})
}

// tokenOf is a token of a NodeBootstrap.
func (w *testEnv) tokenOf(id, bootstrap string) *corev1.Secret {
	s := w.token(id)
	s.Labels[hyperv1.BootstrapTokenLabel] = bootstrap
	return s
}

func TestTokenAllowsOneCertificateOfItsMachine(t *testing.T) {
	w := newTestEnv(t)
	m := waiting("workers-1", "workers-a", "")
	w.Create(t, w.tokenOf(tokenID, "workers-a"), m, waiting("workers-2", "workers-b", otherNode))
	w.reconcileAll()

	w.ask("early", joins(t, nil))
	if w.approved("early") {
		t.Error("approved although nobody knows the names of the machine")
	}
	if w.next > 5*time.Second {
		t.Errorf("a machine that is about to join waits for %s", w.next)
	}
	w.ask("another", joins(t, func(r *x509.CertificateRequest, _ *certificatesv1.CertificateSigningRequestSpec) {
		r.Subject.CommonName = nodeUser + otherNode
	}))
	w.must(w.Admin().Get(t.Context(), client.ObjectKeyFromObject(m), m))
	m.Status.Addresses = waiting("", "", nodeName).Status.Addresses
	w.must(w.Admin().Update(t.Context(), m))
	w.reconcileOnce()
	if !w.approved("early") || w.approved("another") {
		t.Errorf("the machine itself: %v, another node: %v", w.approved("early"), w.approved("another"))
	}

	// Another client has read the token.
	w.ask("second", joins(t, nil))
	if w.approved("second") {
		t.Error("a second key got a certificate of the same machine")
	}
	// The record does not depend on the requests, which expire after an hour or are deleted by an administrator.
	for _, name := range []string{"early", "another", "second"} {
		w.must(w.hosted.Admin().Delete(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	w.start() // nor on the memory of the operator
	w.ask("third", joins(t, nil))
	if w.approved("third") {
		t.Error("a second key got a certificate after the first request was removed")
	}
	w.clock.Step(pollInterval)
	w.reconcileOnce()
	w.expectEvent("Warning NodeCertificateRefused certificate request third of system:bootstrap:abcdef is not approved: Machine workers-1 has a certificate for another key")
	w.reconcileOnce()
	w.expectEvent("")
}

// Nodes that do not respond are checked rarely, while requests of machines are checked often.
func TestMachineJoinsSoonDespiteUnreachableNodes(t *testing.T) {
	w := newTestEnv(t)
	w.Create(t, w.tokenOf(tokenID, "workers-a"), waiting("workers-1", "workers-a", ""))
	w.reconcileAll()
	w.join(otherNode)
	w.reconcileOnce()
	w.expectCondition(hyperv1.DataPlaneConnectionAvailable, "False NoTunnels: no pod konnectivity-agent is ready")
	if w.next != nodeRetryInterval {
		t.Errorf("comes back after %s", w.next)
	}
	w.ask("early", joins(t, nil))
	if w.next > 5*time.Second {
		t.Errorf("a machine that is about to join waits for %s", w.next)
	}
}

// The operator may crash between the record and the approval.
func TestSameKeyIsApprovedAfterACrash(t *testing.T) {
	w := newTestEnv(t)
	w.Create(t, w.tokenOf(tokenID, "workers-a"), waiting("workers-1", "workers-a", nodeName))
	w.reconcileAll()
	csr := joins(t, nil)
	again := csr.DeepCopy()
	w.ask("once", csr)
	w.must(w.hosted.Admin().Delete(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "once"}}))
	w.start()
	w.reconcileAll()
	if w.ask("again", again); !w.approved("again") {
		t.Error("a crash has cost the machine its certificate")
	}
}

func TestExistingNodeIsNotReplaced(t *testing.T) {
	w := newTestEnv(t)
	w.Create(t, w.tokenOf(tokenID, "workers-a"), waiting("workers-1", "workers-a", nodeName))
	w.reconcileAll()
	w.join(nodeName)
	w.ask("taken", joins(t, nil))
	if w.approved("taken") {
		t.Error("got the certificate of a node that is there")
	}
	if why := w.refused["workers-1"]; why != "there is a node "+nodeName+" already" {
		t.Errorf("refusals %v", w.refused)
	}
	w.must(w.hosted.Admin().Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}))
	if w.reconcileOnce(); !w.approved("taken") {
		t.Error("the node is gone, and the machine may not join")
	}
	if len(w.refused) != 0 {
		t.Errorf("refusals %v", w.refused)
	}
}

func TestObsoleteCertificateRecordsAreRemoved(t *testing.T) {
	w := newTestEnv(t)
	first := waiting("workers-1", "workers-a", nodeName)
	w.Create(t, w.tokenOf(tokenID, "workers-a"), first)
	w.reconcileAll()
	w.ask("first", joins(t, nil))
	w.must(w.Admin().Get(t.Context(), client.ObjectKeyFromObject(first), first))
	w.must(w.Admin().Update(t.Context(), joined(first, nodeName)))
	second := waiting("workers-2", "workers-b", otherNode)
	w.Create(t, w.tokenOf("ghijkl", "workers-b"), second)
	w.ask("second", joins(t, func(r *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
		r.Subject.CommonName, s.Username = nodeUser+otherNode, bootstrapapi.BootstrapUserPrefix+"ghijkl"
	}))
	record := &corev1.ConfigMap{}
	w.must(w.Admin().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: names.NodeCertificates}, record))
	if _, kept := record.Data[string(second.UID)]; !kept || len(record.Data) != 1 || !w.approved("second") {
		t.Errorf("got %v", record.Data)
	}
}

// Older operators allowed every token to approve every certificate.
func TestTokensCannotApproveCertificates(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	// Objects of an older operator carry the same labels.
	kept := &rbacv1.ClusterRoleBinding{}
	w.must(w.hosted.Admin().Get(t.Context(), client.ObjectKey{Name: "hypershift:node-certificate-renewals"}, kept))
	old := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "hypershift:node-certificates", Labels: kept.Labels, Annotations: kept.Annotations},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: bootstrapapi.BootstrapDefaultGroup}},
	}
	w.must(w.hosted.Admin().Create(t.Context(), old))
	w.start()
	w.reconcileLater()
	list := &rbacv1.ClusterRoleBindingList{}
	w.must(w.hosted.Admin().List(t.Context(), list))
	for _, b := range list.Items {
		if strings.HasSuffix(b.RoleRef.Name, ":nodeclient") {
			t.Errorf("%s lets %v approve the certificate of any node", b.Name, b.Subjects)
		}
	}
}
