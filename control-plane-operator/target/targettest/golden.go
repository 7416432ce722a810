package targettest

import (
	"testing"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/component/componenttest"
)

// A Case is a cluster to show the component in.
type Case struct {
	// Name is the name of the golden file in testdata.
	Name string
	// Adapt changes the cluster of Env into the case's cluster; nil leaves it.
	Adapt func(*target.ControlPlane)
}

// Single and HighlyAvailable are cases for every component.
var (
	Single          = Case{Name: "single"}
	HighlyAvailable = Case{Name: "highly-available", Adapt: func(env *target.ControlPlane) {
		env.HCP.Spec.ControllerAvailabilityPolicy = "HighlyAvailable"
	}}
)

// Golden compares the component in each cluster with testdata/<case>.yaml.
func Golden(t *testing.T, c component.Component[*target.ControlPlane], cases ...Case) {
	t.Helper()
	for _, cs := range cases {
		t.Run(cs.Name, func(t *testing.T) {
			env := Env()
			if cs.Adapt != nil {
				cs.Adapt(env)
			}
			objs, err := component.Render(c, env)
			if err != nil {
				t.Fatal(err)
			}
			componenttest.Objects(t, cs.Name, objs)
		})
	}
}
