package cli_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

// The shell selects the values that begin with the typed text.
func TestValuesOfFlagsAreCompleted(t *testing.T) {
	for words, want := range map[string][]string{
		"create cluster aws --endpoint-access ": {"Public", "PublicAndPrivate", "Private", ":4"},
		"create bastion aws --arch a":           {"amd64", "arm64", ":4"},
		"create cluster aws --network-type ":    {"OVNKubernetes", "Calico", "Other", ":4"},
		"destroy infra aws -o ":                 {"text", "json", ":4"},
		"create infra aws --infra-id ":          {":4"}, // no files
		"create cluster aws --render=":          {":4"},
		"create infra aws --output-file ":       {":0"}, // files
		"create cluster aws --infra-json ":      {":0"},
		"describe cluster --kubeconfig ":        {":0"},
	} {
		var out bytes.Buffer
		root := cli.New("hypershift", operation.Environment{Out: &out, Err: &bytes.Buffer{}})
		args := strings.Split(words, " ")
		root.SetArgs(append([]string{"__complete"}, args...))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Fields(out.String()); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}
