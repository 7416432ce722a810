package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/commandlinerole"
)

// values are the values of flags with a fixed set.
var values = map[string][]string{
	"arch":                              {string(hyperv1.ArchitectureAMD64), string(hyperv1.ArchitectureARM64)},
	"commands":                          commandlinerole.Commands,
	"control-plane-availability-policy": {string(hyperv1.HighlyAvailable), string(hyperv1.SingleReplica)},
	"endpoint-access":                   {string(hyperv1.Public), string(hyperv1.PublicAndPrivate), string(hyperv1.Private)},
	"infra-availability-policy":         {string(hyperv1.HighlyAvailable), string(hyperv1.SingleReplica)},
	"network-type":                      {string(hyperv1.OVNKubernetes), string(hyperv1.Calico), string(hyperv1.Other)},
	"node-upgrade-type":                 {string(hyperv1.UpgradeTypeReplace), string(hyperv1.UpgradeTypeInPlace)},
	"output":                            {"text", "json"},
}

// addCompletion adds the completion of the values of flags. Without it, the shell would offer files for each of them.
func addCompletion(root *cobra.Command) {
	for _, c := range allCommands(root) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			complete := cobra.NoFileCompletions
			switch {
			case values[f.Name] != nil && f.Value.Type() != "bool":
				complete = cobra.FixedCompletions(values[f.Name], cobra.ShellCompDirectiveNoFileComp)
			case isPath(f):
				return
			}
			_ = c.RegisterFlagCompletionFunc(f.Name, complete) // fails only for a flag that does not exist
		})
	}
}

// isPath is true for a flag with a file or a directory as its value.
func isPath(f *pflag.Flag) bool {
	for _, word := range []string{"file", "directory", "kubeconfig of"} {
		if strings.Contains(f.Usage, word) {
			return true
		}
	}
	return false
}
