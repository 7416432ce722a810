package objects

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
)

func TestATokenNeedsAnIDThatKubernetesAccepts(t *testing.T) {
	now := time.Now()
	for id, want := range map[string]bool{
		"abc123": true, "": false, "abc12": false, "abc1234": false, "ABC123": false, "abc-12": false, "abc123\n": false,
	} {
		token := secret("token", corev1.SecretTypeBootstrapToken, map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey: []byte(id), bootstrapapi.BootstrapTokenExpirationKey: []byte(now.Add(time.Hour).UTC().Format(time.RFC3339)),
		})
		if got := BootstrapToken(token, now) != nil; got != want {
			t.Errorf("id %q: accepted: %v, want %v", id, got, want)
		}
	}
}
