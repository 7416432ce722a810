package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

// The first mistakes of a new user are answered by one line with the command to run.
func TestFirstMistakes(t *testing.T) {
	const profile = "[profile sso]\nregion = us-east-1\nsso_session = s\nsso_account_id = 111111111111\nsso_role_name = admin\n" +
		"[sso-session s]\nsso_region = us-east-1\nsso_start_url = https://example.awsapps.com/start\n"
	for name, c := range map[string]struct {
		env  map[string]string
		args string
		code int
		want string
	}{
		"no credentials":           {nil, "leftovers aws", cli.Failed, "there are no AWS credentials: run `aws configure` or `aws sso login`, set AWS_PROFILE, or pass --sts-creds"},
		"no credentials to create": {nil, "create infra aws --infra-id x --name x --base-domain a.b --zones us-east-1a", cli.Failed, "there are no AWS credentials: run `aws configure`"},
		"no login":                 {map[string]string{"AWS_PROFILE": "sso"}, "leftovers aws", cli.Failed, "the login has expired: run `aws sso login`"},
		"an unknown profile":       {map[string]string{"AWS_PROFILE": "nope"}, "leftovers aws", cli.Failed, "failed to get shared config profile, nope"},
		"a kubeconfig that is not there": {map[string]string{"KUBECONFIG": "/nonexistent"}, "doctor", cli.Usage,
			"there is no kubeconfig of the management cluster at /nonexistent: pass --kubeconfig, or set KUBECONFIG"},
	} {
		t.Run(name, func(t *testing.T) {
			metadata := httptest.NewServer(http.NotFoundHandler())
			t.Cleanup(metadata.Close)
			config := filepath.Join(t.TempDir(), "config")
			if err := os.WriteFile(config, []byte(profile), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, variable := range os.Environ() {
				if key, _, _ := strings.Cut(variable, "="); strings.HasPrefix(key, "AWS_") || key == "KUBECONFIG" {
					t.Setenv(key, "")
					if err := os.Unsetenv(key); err != nil { // t.Setenv restores it
						t.Fatal(err)
					}
				}
			}
			t.Setenv("AWS_CONFIG_FILE", config)
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", metadata.URL)
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			var out, errs bytes.Buffer
			env := operation.Environment{In: strings.NewReader(""), Out: &out, Err: &errs, Clock: clock.RealClock{}, StateHome: t.TempDir()}
			if code := cli.Run(t.Context(), "hypershift", strings.Fields(c.args), env); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if got := errs.String(); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, c.want) || strings.Count(got, "\n") != 1 {
				t.Errorf("the output is\n%s\nwant one line with\n%s", got, c.want)
			}
		})
	}
}
