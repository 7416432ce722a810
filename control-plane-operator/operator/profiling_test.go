package operator

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
)

func TestProfilesAreOffByDefault(t *testing.T) {
	for want, args := range map[string][]string{"": nil, "127.0.0.1:6060": {"--profiling"}} {
		opts, err := Parse("control-plane-operator", args, []string{"POD_NAMESPACE=clusters-demo", "CONTROL_PLANE_OPERATOR_IMAGE=image"})
		if err != nil {
			t.Fatal(err)
		}
		var manager ctrl.Options
		if serve(&manager, opts); manager.PprofBindAddress != want {
			t.Errorf("with %q, profiles are served at %q", args, manager.PprofBindAddress)
		}
	}
}
