package cli_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pluginsVariable names a folder with the AWS provider of Terraform, in the layout of a filesystem mirror.
const pluginsVariable = "HYPERSHIFT_TERRAFORM_PLUGINS"

// The modules are applied by Terraform itself, where it is installed. The other tests interpret them.
func TestTerraformAppliesTheModules(t *testing.T) {
	plugins := os.Getenv(pluginsVariable)
	if plugins == "" {
		t.Skipf("%s is not set", pluginsVariable)
	}
	for _, v := range variants {
		if v.zones != threeZones {
			continue // the others have fewer resources
		}
		t.Run(v.name, func(t *testing.T) { applyWithTerraform(t, plugins, v) })
	}
}

func applyWithTerraform(t *testing.T, plugins string, v variant) {
	reference := newUser(t)
	wantResults := reference.byCommand(v.zones, v.infra, v.iam)
	want := reference.everything()

	u := newUser(t)
	dir := t.TempDir()
	put := func(name string, text []byte) {
		u.try(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		u.write(filepath.Join(dir, name), text)
	}
	put("network/main.tf.json", u.render(createInfra(v.zones, append(v.infra, "--render", "terraform")...)...))
	put("roles/main.tf.json", u.render(append([]string{"create", "iam", "aws", "--infra-id", "demo-x7k2p", "--render", "terraform",
		"--oidc-storage-provider-s3-bucket-name", "documents"}, v.iam...)...))
	put("main.tf", []byte(`
provider "aws" { region = "us-east-1" }
module "network" { source = "./network" }
module "roles" {
  source          = "./roles"
  vpc_id          = module.network.vpc_id
  public_zone_id  = module.network.public_zone_id
  private_zone_id = module.network.private_zone_id
  local_zone_id   = module.network.local_zone_id
}
output "infra" { value = module.network.infra }
output "iam" { value = module.roles.iam }
`))
	put("terraform.rc", fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", plugins))
	terraform := func(args ...string) []byte {
		t.Helper()
		c := exec.CommandContext(t.Context(), "terraform", args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "terraform.rc"), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
		output, err := c.Output()
		if err != nil {
			var stderr []byte
			if exit := new(exec.ExitError); errors.As(err, &exit) {
				stderr = exit.Stderr
			}
			t.Fatalf("terraform %v: %v\n%s%s", args, err, output, stderr)
		}
		return output
	}
	terraform("init", "-no-color")
	terraform("apply", "-no-color", "-auto-approve")
	var made map[string]struct{ Value json.RawMessage }
	u.try(json.Unmarshal(terraform("output", "-json"), &made))
	got := results{made["infra"].Value, made["iam"].Value}
	u.write(u.infraJSON(), got.infra)

	terraform("plan", "-no-color", "-detailed-exitcode") // fails if Terraform would change something again
	u.leaves(createInfra(v.zones, v.infra...))
	u.leaves(u.createIAM(v.iam...))
	if diff := cmp.Diff(want, u.everything()); diff != "" {
		t.Errorf("(-command +terraform):\n%s", diff)
	}
	checkResults(t, reference, wantResults, u, got)
	terraform("destroy", "-no-color", "-auto-approve")
	if left := u.owned(); len(left) > 0 {
		t.Errorf("after terraform destroy, %v are left", left)
	}
}
