// Package metricsclient makes the certificate by which a collector reads the
// metrics of all control-plane-operators. A control-plane-operator runs in a
// tenant's namespace: it may not review tokens of the management cluster, and must not receive a token
// that opens anything else. A client certificate gives no secret to the server that it is shown to.
//
//	hypershift-metrics-signer   the authority; only the hypershift-operator reads it
//	hypershift-metrics-client   the certificate, for the PodMonitor of the chart
//
// Control planes get the authority's certificate alone.
package metricsclient

import (
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/operatorcertificate"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// New returns the issuer of the certificate.
func New(c client.Client, reader client.Reader, clock clock.WithTicker, namespace string) *operatorcertificate.Issuer {
	return &operatorcertificate.Issuer{
		Client: c, Reader: reader, Clock: clock, Namespace: namespace,
		Signer: "hypershift-metrics-signer", Secret: "hypershift-metrics-client", Wanted: pki.Request{User: "hypershift-metrics-reader", Usage: pki.Client},
	}
}
