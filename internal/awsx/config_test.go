package awsx_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

// The operator's own role and the credentials of a bucket may be of different accounts.
func TestCredentialsFilePrecedesTheEnvironment(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "environment")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "any")
	t.Setenv("AWS_PROFILE", "")
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = file\naws_secret_access_key = any\n[other]\naws_access_key_id = other\naws_secret_access_key = any\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for profile, want := range map[string]string{"": "file", "other": "other"} {
		t.Setenv("AWS_PROFILE", profile)
		cfg, err := awsx.NewConfig(t.Context(), awsx.Options{Region: "us-east-1", CredentialsFile: file})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := cfg.Credentials.Retrieve(t.Context()); err != nil || got.AccessKeyID != want {
			t.Errorf("profile %q: key %q, %v; want %q", profile, got.AccessKeyID, err, want)
		}
	}
	if _, err := awsx.NewConfig(t.Context(), awsx.Options{Region: "us-east-1", CredentialsFile: file + ".missing"}); err == nil {
		t.Error("a file that does not exist was accepted")
	}
}
