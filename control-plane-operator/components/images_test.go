package components

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A release with another etcd must not restart the API servers, which would interrupt the watches of every client.
func TestAnotherImageOfEtcdChangesEtcdOnly(t *testing.T) {
	before, after := targettest.Env(), targettest.Env()
	after.Release = targettest.Release("1.36.3")
	after.Release.Components[names.Etcd] = "registry.example.com/etcd:other"
	changed := false
	for _, c := range ControlPlane {
		was, err := component.Render(c, before)
		if err != nil {
			t.Fatal(err)
		}
		is, err := component.Render(c, after)
		if err != nil {
			t.Fatal(err)
		}
		diff := cmp.Diff(was, is)
		if c.Name == names.Etcd {
			changed = strings.Contains(diff, "registry.example.com/etcd:other")
		} else if diff != "" {
			t.Errorf("%s changes with etcd:\n%s", c.Name, diff)
		}
	}
	if !changed {
		t.Error("etcd keeps its image")
	}
}
