package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroups are the titles under which help lists the flags of commands that have many. A flag has one meaning in all commands.
var flagGroups = []struct{ title, flags string }{
	{"The cluster", `name release-image base-domain zones endpoint-access node-pool-replicas pull-secret ssh-key namespace region
		cluster-name replicas zone`},
	{"Control plane", `control-plane-availability-policy infra-availability-policy etcd-storage-class etcd-storage-size etcd-encryption-key-file kms-key-arn backup-bucket
		external-dns-domain kas-dns-name fips annotations labels node-selector pods-labels toleration pausedUntil additional-trust-bundle
		image-content-sources network-type cluster-cidr service-cidr enable-cluster-capabilities`},
	{"Nodes", `arch instance-type subnet-id securitygroup-id instance-profile auto-node auto-repair node-drain-timeout node-volume-detach-timeout node-upgrade-type root-volume-iops
		root-volume-kms-key root-volume-size root-volume-type worker-security-group`},
	{"Network and roles in AWS", `infra-id base-domain-prefix vpc-cidr single-nat-gateway public-only enable-proxy enable-secure-proxy infra-json iam-json
		oidc-issuer-url oidc-storage-provider-s3-bucket-name oidc-storage-provider-s3-region additional-tags
		vpc-id public-zone-id private-zone-id local-zone-id`},
	{"The other management cluster and the snapshot", `to-kubeconfig to-context backup-prefix backup-role-arn backup-region backup-bucket-owner backup-kms-key-arn
		from-backup velero-backup`},
	{"Credentials", `kubeconfig context role-arn sts-creds secret-creds vpc-owner-aws-creds vpc-owner-role-arn management-role-arn operator-namespace`},
	{"The command itself", `plan back verbose render render-into render-sensitive wait timeout cluster-grace-period preserve-iam preserve-infra ignore-failed-checks output
		output-file state-file yes help`},
}

// manyFlags is the number of flags from which on they are grouped.
const manyFlags = 20

// groupFlags makes the help of commands list many flags by subject. Such commands have no subcommands.
func groupFlags(root *cobra.Command) {
	for _, c := range allCommands(root) {
		count := 0
		c.LocalFlags().VisitAll(func(*pflag.Flag) { count++ })
		if count >= manyFlags && !c.HasSubCommands() {
			c.SetUsageFunc(usageBySubject)
		}
	}
}

// usageBySubject writes the usage of a command as Cobra does, except for the flags. A template of Cobra would do, and would make the program
// twice as large: see TestProgramHasOnlyWhatItUses.
func usageBySubject(c *cobra.Command) error {
	sections := []string{"Usage:\n  " + c.UseLine()}
	if len(c.Aliases) > 0 {
		sections = append(sections, "Aliases:\n  "+c.NameAndAliases())
	}
	if c.HasExample() {
		sections = append(sections, "Examples:\n"+c.Example)
	}
	sections = append(sections, flagsBySubject(c.LocalFlags()))
	_, err := fmt.Fprintln(c.OutOrStderr(), strings.TrimRight(strings.Join(sections, "\n\n"), "\n"))
	return err
}

// flagsBySubject returns the descriptions of flags, a section for each subject.
func flagsBySubject(flags *pflag.FlagSet) string {
	rest := map[string]*pflag.Flag{}
	flags.VisitAll(func(f *pflag.Flag) { rest[f.Name] = f })
	var sections []string
	section := func(title string, names []string) {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, name := range names {
			if f := rest[name]; f != nil {
				set.AddFlag(f)
				delete(rest, name)
			}
		}
		if set.HasAvailableFlags() {
			sections = append(sections, title+":\n"+set.FlagUsages())
		}
	}
	for _, g := range flagGroups {
		section(g.title, strings.Fields(g.flags))
	}
	var others []string
	for name := range rest {
		others = append(others, name)
	}
	slices.Sort(others)
	section("Other flags", others)
	return strings.Join(sections, "\n")
}
