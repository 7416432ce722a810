package kubeapiserver

import (
	"strconv"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// addKonnectivity sends traffic to nodes, pods and Services of the hosted cluster through the tunnels, and never through
// the management network.
func addKonnectivity(_ *target.ControlPlane, p *pod) error {
	p.arg("--egress-selector-config-file=/etc/kubernetes/egress/config.yaml")
	// An agent opens connections until it has reached this number of servers.
	c := component.Container(p.PodSpec, names.KonnectivityServerImage)
	c.Args = append(c.Args, "--server-count="+strconv.Itoa(int(p.replicas)))
	return nil
}
