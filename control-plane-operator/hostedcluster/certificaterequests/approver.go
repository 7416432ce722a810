package certificaterequests

import (
	"context"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
)

// An Approver approves certificate requests.
type Approver struct {
	// Client is of the management cluster, and Reader reads it past the cache.
	Client client.Client
	Reader client.Reader
	// Recorder records events about requests that a bootstrap token does not allow.
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	// Refused is called with the reasons why certificate requests of machines are not approved, by name of the Machine. It
	// may be nil.
	Refused func(why map[string]string)
}

// A Subject is a hosted cluster with certificate requests. Its functions are called only while a request is pending.
type Subject struct {
	HCP     *hyperv1.HostedControlPlane
	Cluster *connection.Cluster
	// Machines returns the Machines of the cluster.
	Machines func(context.Context) ([]clusterv1.Machine, error)
	// OnDemand returns the nodes on demand in the form of Machines.
	OnDemand func(context.Context) ([]clusterv1.Machine, error)
	// TokenOnDemand returns the ID of the bootstrap token that nodes on demand share, or "".
	TokenOnDemand func(context.Context) (string, error)
}

// A Result is the result of looking at the pending requests of a signer.
type Result struct {
	// ResourceVersion is where a watch of the requests begins.
	ResourceVersion string
	// RequeueAfter is when to look again although no request is new; 0 if there is no need.
	RequeueAfter time.Duration
}

// A run looks once at the pending requests.
type run struct {
	Approver
	Subject
	Result
}

// pollInterval is the longest time between two looks at a pending request.
const pollInterval = time.Minute

// look passes the pending requests of a signer to a function.
func (a Approver) look(ctx context.Context, of Subject, signer client.MatchingFields, decide func(*run, context.Context, []certificatesv1.CertificateSigningRequest) error) (Result, error) {
	list := &certificatesv1.CertificateSigningRequestList{}
	if err := of.Cluster.Client.List(ctx, list, signer); err != nil {
		return Result{}, fmt.Errorf("listing certificate requests: %w", err)
	}
	decided := func(csr certificatesv1.CertificateSigningRequest) bool { return len(csr.Status.Conditions) > 0 }
	r := &run{Approver: a, Subject: of, Result: Result{ResourceVersion: list.ResourceVersion}}
	err := decide(r, ctx, slices.DeleteFunc(list.Items, decided))
	return r.Result, err
}

// candidates returns the Machines of the cluster, and its nodes on demand in the form of Machines.
func (r *run) candidates(ctx context.Context) (machines, onDemand []clusterv1.Machine, err error) {
	if machines, err = r.Machines(ctx); err != nil {
		return nil, nil, err
	}
	onDemand, err = r.OnDemand(ctx)
	return machines, onDemand, err
}

// awaitMachine requeues soon for a young request, and rarely for an old one. A machine joins as soon as its addresses
// are known, and a request that is never approved causes little load.
func (r *run) awaitMachine(csr *certificatesv1.CertificateSigningRequest) {
	const share = 4
	after := min(max(r.Clock.Since(csr.CreationTimestamp.Time)/share, time.Second), pollInterval)
	if r.RequeueAfter == 0 || after < r.RequeueAfter {
		r.RequeueAfter = after
	}
}

// approve approves a request for a Machine.
func (r *run) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, machine, because string) error {
	ctrl.LoggerFrom(ctx).Info("Approving certificate", "request", csr.Name, "signer", csr.Spec.SignerName, "user", csr.Spec.Username, "machine", machine)
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "MachineVouches", Message: because,
	}}
	if err := r.Cluster.Client.SubResource("approval").Update(ctx, csr); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("approving certificate request %s: %w", csr.Name, err)
	}
	return nil
}
