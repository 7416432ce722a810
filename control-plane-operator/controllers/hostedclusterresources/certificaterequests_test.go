package hostedclusterresources

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/certificaterequests/requesttest"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/dataplane"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

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
	m := requesttest.Waiting("workers-1", "workers-a", "")
	w.Create(t, w.tokenOf(requesttest.TokenID, "workers-a"), m, requesttest.Waiting("workers-2", "workers-b", requesttest.OtherNode))
	w.reconcileAll()

	w.ask("early", requesttest.Joining(t, nil))
	if w.approved("early") {
		t.Error("approved although nobody knows the names of the machine")
	}
	if w.next > 5*time.Second {
		t.Errorf("a machine that is about to join waits for %s", w.next)
	}
	w.ask("another", requesttest.Joining(t, func(r *x509.CertificateRequest, _ *certificatesv1.CertificateSigningRequestSpec) {
		r.Subject.CommonName = requesttest.NodeUser + requesttest.OtherNode
	}))
	w.must(w.Admin().Get(t.Context(), client.ObjectKeyFromObject(m), m))
	m.Status.Addresses = requesttest.Waiting("", "", requesttest.NodeName).Status.Addresses
	w.must(w.Admin().Update(t.Context(), m))
	w.reconcileOnce()
	if !w.approved("early") || w.approved("another") {
		t.Errorf("the machine itself: %v, another node: %v", w.approved("early"), w.approved("another"))
	}

	// Another client has read the token.
	w.ask("second", requesttest.Joining(t, nil))
	if w.approved("second") {
		t.Error("a second key got a certificate of the same machine")
	}
	// The record does not depend on the requests, which expire after an hour or are deleted by an administrator.
	for _, name := range []string{"early", "another", "second"} {
		w.must(w.hosted.Admin().Delete(t.Context(), &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	w.start() // nor on the memory of the operator
	w.ask("third", requesttest.Joining(t, nil))
	if w.approved("third") {
		t.Error("a second key got a certificate after the first request was removed")
	}
	w.clock.Step(time.Minute)
	w.reconcileOnce()
	w.expectEvent("Warning NodeCertificateRefused certificate request third of system:bootstrap:abcdef is not approved: Machine workers-1 has a certificate for another key")
	w.reconcileOnce()
	w.expectEvent("")
}

// Nodes that do not respond are checked rarely, while requests of machines are checked often.
func TestMachineJoinsSoonDespiteUnreachableNodes(t *testing.T) {
	w := newTestEnv(t)
	w.Create(t, w.tokenOf(requesttest.TokenID, "workers-a"), requesttest.Waiting("workers-1", "workers-a", ""))
	w.reconcileAll()
	w.join(requesttest.OtherNode)
	w.reconcileOnce()
	w.expectCondition(hyperv1.DataPlaneConnectionAvailable, "False NoTunnels: no pod konnectivity-agent is ready")
	if w.next != dataplane.RetryInterval {
		t.Errorf("comes back after %s", w.next)
	}
	w.ask("early", requesttest.Joining(t, nil))
	if w.next > 5*time.Second {
		t.Errorf("a machine that is about to join waits for %s", w.next)
	}
}

// The operator may crash between the record and the approval.
func TestSameKeyIsApprovedAfterACrash(t *testing.T) {
	w := newTestEnv(t)
	w.Create(t, w.tokenOf(requesttest.TokenID, "workers-a"), requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName))
	w.reconcileAll()
	csr := requesttest.Joining(t, nil)
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
	w.Create(t, w.tokenOf(requesttest.TokenID, "workers-a"), requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName))
	w.reconcileAll()
	w.join(requesttest.NodeName)
	w.ask("taken", requesttest.Joining(t, nil))
	if w.approved("taken") {
		t.Error("got the certificate of a node that is there")
	}
	if why := w.refused["workers-1"]; why != "there is a node "+requesttest.NodeName+" already" {
		t.Errorf("refusals %v", w.refused)
	}
	w.must(w.hosted.Admin().Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: requesttest.NodeName}}))
	if w.reconcileOnce(); !w.approved("taken") {
		t.Error("the node is gone, and the machine may not join")
	}
	if len(w.refused) != 0 {
		t.Errorf("refusals %v", w.refused)
	}
}

func TestObsoleteCertificateRecordsAreRemoved(t *testing.T) {
	w := newTestEnv(t)
	first := requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName)
	w.Create(t, w.tokenOf(requesttest.TokenID, "workers-a"), first)
	w.reconcileAll()
	w.ask("first", requesttest.Joining(t, nil))
	w.must(w.Admin().Get(t.Context(), client.ObjectKeyFromObject(first), first))
	w.must(w.Admin().Update(t.Context(), requesttest.Joined(first, requesttest.NodeName)))
	second := requesttest.Waiting("workers-2", "workers-b", requesttest.OtherNode)
	w.Create(t, w.tokenOf("ghijkl", "workers-b"), second)
	w.ask("second", requesttest.Joining(t, func(r *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
		r.Subject.CommonName, s.Username = requesttest.NodeUser+requesttest.OtherNode, bootstrapapi.BootstrapUserPrefix+"ghijkl"
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

func TestServingCertificateIsApprovedWhenTheMachineHasAddresses(t *testing.T) {
	w := newTestEnv(t)
	w.reconcileAll()
	w.must(w.hosted.Admin().Create(t.Context(), requesttest.Serving(t, nil)))
	w.reconcileOnce()
	csr := &certificatesv1.CertificateSigningRequest{}
	if w.inside("", "csr-1", csr); len(csr.Status.Conditions) > 0 {
		t.Error("approved without a Machine")
	}
	if w.next > time.Minute {
		t.Errorf("comes back after %s", w.next)
	}
	w.must(w.Admin().Create(t.Context(), requesttest.Machine("workers-1", requesttest.NodeName, requesttest.NodeName, requesttest.NodeIP)))
	w.reconcileOnce()
	if w.inside("", "csr-1", csr); len(csr.Status.Conditions) != 1 || csr.Status.Conditions[0].Type != certificatesv1.CertificateApproved {
		t.Errorf("got %+v", csr.Status.Conditions)
	}
	w.expectCondition(resourcesCondition, succeeded)
}
