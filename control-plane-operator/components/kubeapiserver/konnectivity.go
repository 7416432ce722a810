package kubeapiserver

import (
	"strconv"

	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// addKonnectivity sends what goes to nodes, pods and Services of the hosted cluster through the tunnels, and never from the
// management network.
func addKonnectivity(_ *component.Env, p *pod) error {
	p.arg("--egress-selector-config-file=/etc/kubernetes/egress/config.yaml")
	// An agent dials until it has met that many servers.
	c := component.Container(p.PodSpec, names.KonnectivityServerImage)
	c.Args = append(c.Args, "--server-count="+strconv.Itoa(int(p.replicas)))
	return nil
}
