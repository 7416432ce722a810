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
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// ask creates a request and reconciles.
func (e *hostedCluster) ask(name string, csr *certificatesv1.CertificateSigningRequest) {
	e.T.Helper()
	csr.Name = name
	csr.CreationTimestamp = metav1.NewTime(e.Clock.Now())
	e.Must(e.hosted.Admin().Create(e.T.Context(), csr))
	e.Once()
}

func (e *hostedCluster) approved(name string) bool {
	e.T.Helper()
	csr := &certificatesv1.CertificateSigningRequest{}
	if !e.inside("", name, csr) {
		e.T.Fatalf("there is no request %s", name)
	}
	return slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == certificatesv1.CertificateApproved
	})
}

// tokenOf is a token of a NodeBootstrap.
func (e *hostedCluster) tokenOf(id, bootstrap string) *corev1.Secret {
	s := e.token(id)
	s.Labels[hyperv1.BootstrapTokenLabel] = bootstrap
	return s
}

func TestTokenAllowsOneCertificateOfItsMachine(t *testing.T) {
	e := newHostedCluster(t)
	m := requesttest.Waiting("workers-1", "workers-a", "")
	e.Create(e.tokenOf(requesttest.TokenID, "workers-a"), m, requesttest.Waiting("workers-2", "workers-b", requesttest.OtherNode))
	e.reconcileAll()

	e.ask("early", requesttest.Joining(t, nil))
	if e.approved("early") {
		t.Error("approved although nobody knows the names of the machine")
	}
	if e.RequeueAfter > 5*time.Second {
		t.Errorf("a machine that is about to join waits for %s", e.RequeueAfter)
	}
	e.ask("another", requesttest.Joining(t, func(r *x509.CertificateRequest, _ *certificatesv1.CertificateSigningRequestSpec) {
		r.Subject.CommonName = requesttest.NodeUser + requesttest.OtherNode
	}))
	e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(m), m))
	m.Status.Addresses = requesttest.Waiting("", "", requesttest.NodeName).Status.Addresses
	e.Update(m)
	e.Once()
	if !e.approved("early") || e.approved("another") {
		t.Errorf("the machine itself: %v, another node: %v", e.approved("early"), e.approved("another"))
	}

	// Another client has read the token.
	e.ask("second", requesttest.Joining(t, nil))
	if e.approved("second") {
		t.Error("a second key got a certificate of the same machine")
	}
	// The record does not depend on the requests, which expire after an hour or are deleted by an administrator.
	for _, name := range []string{"early", "another", "second"} {
		e.hosted.Delete(&certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	e.Restart() // nor on the memory of the operator
	e.ask("third", requesttest.Joining(t, nil))
	if e.approved("third") {
		t.Error("a second key got a certificate after the first request was removed")
	}
	e.Clock.Step(time.Minute)
	e.Once()
	e.expectEvent("Warning NodeCertificateRefused: certificate request third of system:bootstrap:abcdef is not approved: Machine workers-1 has a certificate for another key")
	e.Once()
	e.expectEvent("")
}

// Nodes that do not respond are checked rarely, while requests of machines are checked often.
func TestMachineJoinsSoonDespiteUnreachableNodes(t *testing.T) {
	e := newHostedCluster(t)
	e.Create(e.tokenOf(requesttest.TokenID, "workers-a"), requesttest.Waiting("workers-1", "workers-a", ""))
	e.reconcileAll()
	e.join(requesttest.OtherNode)
	e.Once()
	e.ExpectConditionText(hyperv1.DataPlaneConnectionAvailable, "False NoTunnels: no pod konnectivity-agent is ready")
	if e.RequeueAfter != dataplane.RetryInterval {
		t.Errorf("comes back after %s", e.RequeueAfter)
	}
	e.ask("early", requesttest.Joining(t, nil))
	if e.RequeueAfter > 5*time.Second {
		t.Errorf("a machine that is about to join waits for %s", e.RequeueAfter)
	}
}

// The operator may crash between the record and the approval.
func TestSameKeyIsApprovedAfterACrash(t *testing.T) {
	e := newHostedCluster(t)
	e.Create(e.tokenOf(requesttest.TokenID, "workers-a"), requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName))
	e.reconcileAll()
	csr := requesttest.Joining(t, nil)
	again := csr.DeepCopy()
	e.ask("once", csr)
	e.hosted.Delete(&certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "once"}})
	e.Restart()
	e.reconcileAll()
	if e.ask("again", again); !e.approved("again") {
		t.Error("a crash has cost the machine its certificate")
	}
}

func TestExistingNodeIsNotReplaced(t *testing.T) {
	e := newHostedCluster(t)
	e.Create(e.tokenOf(requesttest.TokenID, "workers-a"), requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName))
	e.reconcileAll()
	e.join(requesttest.NodeName)
	e.ask("taken", requesttest.Joining(t, nil))
	if e.approved("taken") {
		t.Error("got the certificate of a node that is there")
	}
	if why := e.refused["workers-1"]; why != "there is a node "+requesttest.NodeName+" already" {
		t.Errorf("refusals %v", e.refused)
	}
	e.hosted.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: requesttest.NodeName}})
	if e.Once(); !e.approved("taken") {
		t.Error("the node is gone, and the machine may not join")
	}
	if len(e.refused) != 0 {
		t.Errorf("refusals %v", e.refused)
	}
}

func TestObsoleteCertificateRecordsAreRemoved(t *testing.T) {
	e := newHostedCluster(t)
	first := requesttest.Waiting("workers-1", "workers-a", requesttest.NodeName)
	e.Create(e.tokenOf(requesttest.TokenID, "workers-a"), first)
	e.reconcileAll()
	e.ask("first", requesttest.Joining(t, nil))
	e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(first), first))
	e.Update(requesttest.Joined(first, requesttest.NodeName))
	second := requesttest.Waiting("workers-2", "workers-b", requesttest.OtherNode)
	e.Create(e.tokenOf("ghijkl", "workers-b"), second)
	e.ask("second", requesttest.Joining(t, func(r *x509.CertificateRequest, s *certificatesv1.CertificateSigningRequestSpec) {
		r.Subject.CommonName, s.Username = requesttest.NodeUser+requesttest.OtherNode, bootstrapapi.BootstrapUserPrefix+"ghijkl"
	}))
	record := testenv.Named(e.Env, names.NodeCertificates, &corev1.ConfigMap{})
	if _, kept := record.Data[string(second.UID)]; !kept || len(record.Data) != 1 || !e.approved("second") {
		t.Errorf("got %v", record.Data)
	}
}

// Older operators allowed every token to approve every certificate.
func TestTokensCannotApproveCertificates(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	// Objects of an older operator carry the same labels.
	kept := &rbacv1.ClusterRoleBinding{}
	e.Must(e.hosted.Admin().Get(t.Context(), client.ObjectKey{Name: "hypershift:node-certificate-renewals"}, kept))
	old := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "hypershift:node-certificates", Labels: kept.Labels, Annotations: kept.Annotations},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: bootstrapapi.BootstrapDefaultGroup}},
	}
	e.Must(e.hosted.Admin().Create(t.Context(), old))
	e.Restart()
	e.reconcileLater()
	list := &rbacv1.ClusterRoleBindingList{}
	e.Must(e.hosted.Admin().List(t.Context(), list))
	for _, b := range list.Items {
		if strings.HasSuffix(b.RoleRef.Name, ":nodeclient") {
			t.Errorf("%s lets %v approve the certificate of any node", b.Name, b.Subjects)
		}
	}
}

func TestServingCertificateIsApprovedWhenTheMachineHasAddresses(t *testing.T) {
	e := newHostedCluster(t)
	e.reconcileAll()
	e.Must(e.hosted.Admin().Create(t.Context(), requesttest.Serving(t, nil)))
	e.Once()
	csr := &certificatesv1.CertificateSigningRequest{}
	if e.inside("", "csr-1", csr); len(csr.Status.Conditions) > 0 {
		t.Error("approved without a Machine")
	}
	if e.RequeueAfter > time.Minute {
		t.Errorf("comes back after %s", e.RequeueAfter)
	}
	e.Must(e.Admin().Create(t.Context(), requesttest.Machine("workers-1", requesttest.NodeName, requesttest.NodeName, requesttest.NodeIP)))
	e.Once()
	if e.inside("", "csr-1", csr); len(csr.Status.Conditions) != 1 || csr.Status.Conditions[0].Type != certificatesv1.CertificateApproved {
		t.Errorf("got %+v", csr.Status.Conditions)
	}
	e.ExpectConditionText(resourcesCondition, succeeded)
}
