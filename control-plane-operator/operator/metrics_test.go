package operator

import (
	"crypto/tls"
	"testing"
)

// Package metricstls tests the effect of these settings on clients.
func TestMetricsAreForClientsOfTheAuthorityAlone(t *testing.T) {
	options := metricsOptions(Options{MetricsAddr: ":8080"})
	cfg := &tls.Config{}
	for _, set := range options.TLSOpts {
		set(cfg)
	}
	if !options.SecureServing || cfg.ClientAuth != tls.RequireAndVerifyClientCert || cfg.ClientCAs == nil || cfg.GetCertificate == nil {
		t.Errorf("secure: %v, clients: %v, verified: %v", options.SecureServing, cfg.ClientAuth, cfg.ClientCAs != nil)
	}
}
