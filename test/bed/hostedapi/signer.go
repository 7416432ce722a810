package hostedapi

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// signRequests signs the certificates of kubelets that somebody has approved, as kube-controller-manager does. The
// control-plane-operator approves them.
func (a *API) signRequests(ctx context.Context) error {
	requests := a.kube.CertificatesV1().CertificateSigningRequests()
	all, err := requests.List(ctx, metav1.ListOptions{FieldSelector: "spec.signerName=" + certificatesv1.KubeAPIServerClientKubeletSignerName})
	if err != nil {
		return fmt.Errorf("listing certificate requests: %w", err)
	}
	for _, request := range all.Items {
		approved := slices.ContainsFunc(request.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
			return c.Type == certificatesv1.CertificateApproved
		})
		if !approved || len(request.Status.Certificate) > 0 {
			continue
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
