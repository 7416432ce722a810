package hostedapi

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// signRequests gives kubelets the certificates they ask for. That they may ask was decided by RBAC.
func (a *API) signRequests(ctx context.Context) error {
	requests := a.kube.CertificatesV1().CertificateSigningRequests()
	all, err := requests.List(ctx, metav1.ListOptions{FieldSelector: "spec.signerName=" + certificatesv1.KubeAPIServerClientKubeletSignerName})
	if err != nil {
		return fmt.Errorf("listing certificate requests: %w", err)
	}
	for _, request := range all.Items {
		if len(request.Status.Certificate) > 0 {
			continue
		}
		if len(request.Status.Conditions) == 0 {
			request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
				Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "StandIn", Message: "the test bed approves kubelets",
			}}
			approved, err := requests.UpdateApproval(ctx, request.Name, &request, metav1.UpdateOptions{})
			if err != nil {
				return fmt.Errorf("approving certificate request %s: %w", request.Name, err)
			}
			request = *approved
		}
		if request.Status.Certificate, err = a.certificate(request.Spec.Request); err != nil {
			return fmt.Errorf("signing certificate request %s: %w", request.Name, err)
		}
		if _, err := requests.UpdateStatus(ctx, &request, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("answering certificate request %s: %w", request.Name, err)
		}
	}
	return nil
}

// certificate is the one that a request in PEM asks for.
func (a *API) certificate(text []byte) ([]byte, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("it is not in PEM")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return a.ca.sign(request.Subject, request.PublicKey)
}
