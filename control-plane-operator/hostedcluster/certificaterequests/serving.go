package certificaterequests

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OfKubeletServing selects the requests of kubelets for a serving certificate.
var OfKubeletServing = client.MatchingFields{"spec.signerName": certificatesv1.KubeletServingSignerName}

// Serving approves serving certificates of kubelets that match a Machine. No other controller approves
// them, because a node could then serve under any name. People decide about requests without a matching Machine.
func (a Approver) Serving(ctx context.Context, of Subject) (Result, error) {
	return a.look(ctx, of, OfKubeletServing, (*run).serving)
}

func (r *run) serving(ctx context.Context, pending []certificatesv1.CertificateSigningRequest) error {
	if len(pending) == 0 {
		return nil
	}
	machines, claimed, err := r.candidates(ctx)
	if err != nil {
		return err
	}
	machines = append(machines, claimed...)
	for i := range pending {
		machine, reason := servingMachine(&pending[i], machines)
		if machine == "" {
			ctrl.LoggerFrom(ctx).V(1).Info("Not approving", "request", pending[i].Name, "user", pending[i].Spec.Username, "because", reason)
			r.awaitMachine(&pending[i]) // the Machine may get its addresses later
			continue
		}
		if err := r.approve(ctx, &pending[i], machine, "these are the addresses of Machine "+machine); err != nil {
			return err
		}
	}
	return nil
}
