package clusteriam

import rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"

// ProviderNode returns the node of the OIDC provider, for a cluster that has its roles.
func (c *Cloud) ProviderNode(s Spec) *rg.Node {
	return builder{Cloud: c, Spec: s}.provider()
}
