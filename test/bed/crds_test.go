package bed

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
)

// The Route CRD is shipped for clusters that are not OpenShift. It must be the one our client was generated from.
func TestTheRouteCRDIsThatOfThePinnedModule(t *testing.T) {
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	module, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(module)), "route", "v1", "zz_generated.crd-manifests", "routes.crd.yaml")
	want, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	shipped := filepath.Join(root, "config", "crd", "external", "routes.crd.yaml")
	got, err := os.ReadFile(shipped)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs from its source; copy it again:\ncp %s %s", shipped, source, shipped)
	}
}
