package clusteriam

import rg "github.com/hosted-control-planes/hypershift/internal/cli/resourcegraph"

// ProviderGraph returns the graph of the OIDC provider alone, for a cluster that has its roles.
func (c *Cloud) ProviderGraph(s Spec) (*rg.Graph, error) {
	return rg.New(builder{Cloud: c, Spec: s}.provider())
}
