package hostedclusterresources

import (
	"context"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ofKubeletServing selects the requests of kubelets for a serving certificate.
var ofKubeletServing = client.MatchingFields{"spec.signerName": certificatesv1.KubeletServingSignerName}

// approveServing approves serving certificates of kubelets that match a Machine. No other controller approves
// them, because a node could then serve under any name. People decide about requests without a matching Machine.
func (r *Reconciler) approveServing(ctx context.Context, s *scope) error {
	pending, version, err := pendingRequests(ctx, s, ofKubeletServing)
	if err != nil {
		return err
	}
	s.servingVersion = version
	if len(pending) == 0 {
		return nil
	}
	machines, err := r.machines(ctx, s)
	if err != nil {
		return err
	}
	claimed, err := r.claimedMachines(ctx, s)
	if err != nil {
		return err
	}
	machines = append(machines, claimed...)
	for i := range pending {
		machine, why := servingMachine(&pending[i], machines)
		if machine == "" {
			ctrl.LoggerFrom(ctx).V(1).Info("Not approving", "request", pending[i].Name, "user", pending[i].Spec.Username, "because", why)
			r.awaitMachine(s, &pending[i]) // the Machine may get its addresses later
			continue
		}
		if err := r.approve(ctx, s, &pending[i], machine, "these are the addresses of Machine "+machine); err != nil {
			return err
		}
	}
	return nil
}

// pendingRequests returns the undecided requests of a signer, and the resource version for a watch.
func pendingRequests(ctx context.Context, s *scope, ofSigner client.MatchingFields) ([]certificatesv1.CertificateSigningRequest, string, error) {
	list := &certificatesv1.CertificateSigningRequestList{}
	if err := s.hosted.client.List(ctx, list, ofSigner); err != nil {
		return nil, "", fmt.Errorf("listing certificate requests: %w", err)
	}
	decided := func(csr certificatesv1.CertificateSigningRequest) bool { return len(csr.Status.Conditions) > 0 }
	return slices.DeleteFunc(list.Items, decided), list.ResourceVersion, nil
}

// awaitMachine requeues soon for a young request, and rarely for an old one. A machine joins as soon as its addresses
// are known, and a request that is never approved causes little load.
func (r *Reconciler) awaitMachine(s *scope, csr *certificatesv1.CertificateSigningRequest) {
	const share = 4
	s.requeueAfter(min(max(r.Clock.Since(csr.CreationTimestamp.Time)/share, time.Second), pollInterval))
}

// machines returns the Machines of the cluster. There are none without Cluster API.
func (r *Reconciler) machines(ctx context.Context, s *scope) ([]clusterv1.Machine, error) {
	list := &clusterv1.MachineList{}
	if err := r.Reader.List(ctx, list, client.InNamespace(s.hcp.Namespace)); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("listing Machines: %w", err)
	}
	return list.Items, nil
}

func (r *Reconciler) approve(ctx context.Context, s *scope, csr *certificatesv1.CertificateSigningRequest, machine, because string) error {
	ctrl.LoggerFrom(ctx).Info("Approving certificate", "request", csr.Name, "signer", csr.Spec.SignerName, "user", csr.Spec.Username, "machine", machine)
	csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "MachineVouches", Message: because,
	}}
	if err := s.hosted.client.SubResource("approval").Update(ctx, csr); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("approving certificate request %s: %w", csr.Name, err)
	}
	return nil
}
