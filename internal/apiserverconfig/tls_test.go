package apiserverconfig

import (
	"slices"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
)

func TestAllCiphersHaveANameInGo(t *testing.T) {
	lost := []string{ // Go does not support them
		"ECDHE-ECDSA-AES256-SHA384", "ECDHE-RSA-AES256-SHA384", "AES256-SHA256",
		"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
	}
	for _, cipher := range configv1.TLSProfiles[configv1.TLSProfileOldType].Ciphers {
		if got := cipherSuites([]string{cipher}); (len(got) == 0) != slices.Contains(lost, cipher) {
			t.Errorf("%s is %v", cipher, got)
		}
	}
}
