package kubeapiserver

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func hasKonnectivity(env *component.Env) bool { return env.Has(names.KonnectivityServerImage) }

// addKonnectivity sends what goes to nodes through the tunnels, if the payload
// has the program that keeps them.
func addKonnectivity(env *component.Env, p *pod) error {
	if !hasKonnectivity(env) {
		p.unmount("egress", "konnectivity", "konnectivity-socket")
		p.Containers = slices.DeleteFunc(p.Containers, func(c corev1.Container) bool { return c.Name == names.KonnectivityServerImage })
		return nil
	}
	p.arg("--egress-selector-config-file=/etc/kubernetes/egress/config.yaml")
	// An agent dials until it has met that many servers.
	c := component.Container(p.PodSpec, names.KonnectivityServerImage)
	c.Args = append(c.Args, "--server-count="+strconv.Itoa(int(p.replicas)))
	return nil
}
