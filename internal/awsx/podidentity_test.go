package awsx

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// TestPodIdentity runs in the environment of a pod with a role by EKS Pod Identity: an agent on the node exchanges the token
// of the pod, which the kubelet renews. Source: https://docs.aws.amazon.com/eks/latest/userguide/pod-id-how-it-works.html
func TestPodIdentity(t *testing.T) {
	var exchanged atomic.Value
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		exchanged.Store(r.Header.Get("Authorization"))
		fmt.Fprintf(w, `{"AccessKeyId":"AKIDPOD","SecretAccessKey":"secret","Token":"session","AccountId":"111111111111","Expiration":%q}`,
			time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}))
	defer agent.Close()
	token := filepath.Join(t.TempDir(), "eks-pod-identity-token")
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL+"/v1/credentials")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token)
	for _, text := range []string{"first", "renewed"} {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := NewConfig(t.Context(), Options{Region: "us-east-1"})
		if err != nil {
			t.Fatal(err)
		}
		got, err := cfg.Credentials.Retrieve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.AccessKeyID != "AKIDPOD" || got.SessionToken != "session" || exchanged.Load() != text {
			t.Errorf("credentials %s from %s for the token %q, want those for %q", got.AccessKeyID, got.Source, exchanged.Load(), text)
		}
	}
}
