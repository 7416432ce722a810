package cli

import (
	"github.com/spf13/cobra"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/console"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/consolelogs"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/describe"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/doctor"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/dump"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/fix"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/get"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/install"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/leftovers"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

// addInspection adds the commands that install the operator and show its objects.
func addInspection(root *cobra.Command, env operation.Environment) {
	root.AddCommand(
		install.New(env),
		doctor.New(env),
		list(env),
		console.New(env),
		group("describe", "Show the state of something", describe.NewCluster(env)),
		group("dump", "Collect data for support", dump.NewCluster(env)),
		group("console-logs", "Save the consoles of machines", consolelogs.NewAWS(env)),
		group("fix", "Repair something that was deleted", fix.NewOIDC(env)),
		group("leftovers", "Find what was left behind", leftovers.NewAWS(env)),
	)
}

// list returns `get`, which is also `list`.
func list(env operation.Environment) *cobra.Command {
	c := group("get", "List hosted clusters or node pools", get.NewClusters(env), get.NewNodePools(env))
	c.Aliases = []string{"list"}
	return c
}
