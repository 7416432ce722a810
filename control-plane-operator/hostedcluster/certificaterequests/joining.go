package certificaterequests

import (
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// OfKubeletClient selects the requests of kubelets for a client certificate.
var OfKubeletClient = client.MatchingFields{"spec.signerName": certificatesv1.KubeAPIServerClientKubeletSignerName}

// certificateRefused is the reason of the event for a request that a bootstrap token does not allow.
const certificateRefused = "NodeCertificateRefused"

// Joining approves the first client certificate of a node. A bootstrap token allows one certificate with one key,
// for the Machine that it was created for. Other requests stay pending: the Machine's addresses may be missing yet, and
// people can decide. kube-controller-manager approves renewals for a node's own name.
func (a Approver) Joining(ctx context.Context, of Subject) (Result, error) {
	return a.look(ctx, of, OfKubeletClient, (*run).joining)
}

func (r *run) joining(ctx context.Context, pending []certificatesv1.CertificateSigningRequest) error {
	pending = fromTokens(pending)
	refused := map[string]string{}
	if r.Refused != nil {
		defer func() { r.Refused(refused) }()
	}
	if len(pending) == 0 {
		return nil
	}
	machines, claimed, err := r.candidates(ctx)
	if err != nil {
		return err
	}
	onDemand, err := r.TokenOnDemand(ctx)
	if err != nil {
		return err
	}
	all := slices.Concat(machines, claimed)
	tokens := &corev1.SecretList{}
	if err := r.Client.List(ctx, tokens, client.InNamespace(r.HCP.Namespace), client.HasLabels{hyperv1.BootstrapTokenLabel}); err != nil {
		return fmt.Errorf("listing bootstrap tokens: %w", err)
	}
	for i := range pending {
		csr := &pending[i]
		request, reason := joiningMachine(csr, tokens.Items, machines, r.Clock.Now())
		if onDemand != "" && tokenOf(csr) == onDemand {
			request, reason = joiningOnDemand(csr, claimed, r.Clock.Now())
		}
		if reason == "" {
			if reason, err = r.claim(ctx, request, all); err != nil {
				return err
			}
		}
		if reason != "" {
			if m := machineOf(strings.TrimPrefix(csr.Spec.Username, bootstrapapi.BootstrapUserPrefix), tokens.Items, machines, r.Clock.Now()); m != nil {
				refused[m.Name] = reason
			}
			r.refuse(ctx, csr, reason)
			continue
		}
		if err := r.approve(ctx, csr, request.machine.Name, "the token was made for Machine "+request.machine.Name+", which is the node"); err != nil {
			return err
		}
	}
	return nil
}

// fromTokens returns the requests that were made with bootstrap tokens.
func fromTokens(requests []certificatesv1.CertificateSigningRequest) []certificatesv1.CertificateSigningRequest {
	var joining []certificatesv1.CertificateSigningRequest
	for _, csr := range requests {
		if strings.HasPrefix(csr.Spec.Username, bootstrapapi.BootstrapUserPrefix) {
			joining = append(joining, csr)
		}
	}
	return joining
}

// refuse leaves a request pending, and reports it after some time.
func (r *run) refuse(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, reason string) {
	ctrl.LoggerFrom(ctx).V(1).Info("Not approving", "request", csr.Name, "user", csr.Spec.Username, "because", reason)
	r.awaitMachine(csr)
	if r.Clock.Since(csr.CreationTimestamp.Time) >= pollInterval {
		r.Cluster.RecordOnce(r.Recorder, r.HCP, certificateRefused, "ApproveCertificates", string(csr.UID), "certificate request %s of %s is not approved: %s", csr.Name, csr.Spec.Username, reason)
	}
}

// claim records the key of a Machine's certificate before the approval. The record outlives the request, which the
// hosted cluster deletes after an hour and its administrators at any time. A crash between the record and the approval
// is harmless: the next reconcile approves the same key.
func (r *run) claim(ctx context.Context, request joining, machines []clusterv1.Machine) (reason string, err error) {
	node := &metav1.PartialObjectMetadata{}
	node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
	switch err := r.Cluster.Client.Get(ctx, client.ObjectKey{Name: request.node}, node); {
	case err == nil:
		return "there is a node " + request.node + " already", nil
	case !apierrors.IsNotFound(err):
		return "", fmt.Errorf("getting Node %s: %w", request.node, err)
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: r.HCP.Namespace, Name: names.NodeCertificates}}
	err = r.Reader.Get(ctx, client.ObjectKeyFromObject(record), record)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("getting ConfigMap %s: %w", record.Name, err)
	}
	uid := string(request.machine.UID)
	if key := record.Data[uid]; key == request.key {
		return "", nil
	} else if key != "" {
		return fmt.Sprintf("Machine %s has a certificate for another key", request.machine.Name), nil
	}
	before := record.DeepCopy()
	record.Data = claims(record.Data, machines)
	record.Data[uid] = request.key
	if apierrors.IsNotFound(err) {
		err = r.Client.Create(ctx, record)
	} else {
		err = r.Client.Patch(ctx, record, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}
	if err != nil {
		return "", fmt.Errorf("recording the certificate of Machine %s in ConfigMap %s: %w", request.machine.Name, record.Name, err)
	}
	return "", nil
}

// claims keeps the records of Machines that have not joined yet. A Machine that has joined gets no other certificate.
func claims(all map[string]string, machines []clusterv1.Machine) map[string]string {
	remaining := map[string]string{}
	for i := range machines {
		if uid := string(machines[i].UID); all[uid] != "" && !machines[i].Status.NodeRef.IsDefined() {
			remaining[uid] = all[uid]
		}
	}
	return remaining
}
