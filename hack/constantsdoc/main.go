// Constantsdoc generates docs/conditions.md and docs/annotations.md from the comments of constants. Each block of constants that
// belongs to a page becomes a section, and each constant a line. Users and developers read the same text.
package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// A page is a file and its parts.
type page struct {
	path, introduction string
	sources            []source
	// appendix writes the text after the sources.
	appendix func(*bytes.Buffer)
}

// source is a package with constants for the page.
type source struct {
	dir string
	// begins lists the first words of the comments of these blocks.
	begins []string
	// title replaces the comment of the block, if it is set.
	title string
}

// pages have their sources in the order of the sections: types before reasons.
var pages = []page{
	{
		path: "docs/conditions.md",
		introduction: `# Conditions and their reasons

The conditions of an object report its state. A condition has a type, a status (True, False or Unknown), a reason, which is one
word, and a message. True is good unless the description below differs. Unknown means that the state could not be determined. It is
not the same as False. This page lists the conditions of the whole API. A condition that an object does not have does not apply to
it. Programs that wait for an object use Ready: ` + "`kubectl wait --for=condition=Ready hostedcluster/example`" + `. This page is
generated from the sources by ` + "`make generate`" + `.

OpenShift sets some conditions for which there is nothing to report here. They are absent: ClusterVersionRetrievedUpdates and
ClusterVersionUpgradeable (there is no update service, and ValidReleaseImage checks each upgrade), IgnitionEndpointAvailable (machines
get their configuration in their user data), ValidIDPConfiguration (there is no OAuth server; ValidConfiguration checks OIDC
providers), EtcdRecoveryActive, EtcdBackupSucceeded and HostedClusterRestoredFromBackup, PublicEndpointExposed, CVOScaledDown, and
those about the size of a cluster.
`,
		sources: []source{
			{dir: "api/hypershift/v1beta1", begins: []string{"Condition"}},
			{dir: "api/hypershift/v1beta1", begins: []string{"Reasons"}},
			{dir: "internal/awsx", begins: []string{"The kinds"}, title: "Reasons for errors of AWS"},
		},
		appendix: func(*bytes.Buffer) {},
	},
	{
		path: "docs/annotations.md",
		introduction: `# Annotations

Annotations of HostedClusters and NodePools that the operators read. A value that cannot be used is reported by the condition
ValidConfiguration of a HostedCluster, and by the condition that the annotation concerns on a NodePool, as ValidPlatformImage. The
condition SupportedFields lists annotations of the domain hypershift.openshift.io that have no effect: those of
[the last section](#annotations-without-effect), and those that are not on this page. This page is generated from the sources by
` + "`make generate`" + `.
`,
		sources:  []source{{dir: "api/hypershift/v1beta1", begins: []string{"Annotations"}}},
		appendix: withoutEffect,
	},
}

// withoutEffect lists annotations that users of OpenShift may have.
func withoutEffect(out *bytes.Buffer) {
	list := func(title, text string, tables ...map[string]string) {
		all := map[string]string{}
		for _, table := range tables {
			maps.Copy(all, table)
		}
		fmt.Fprintf(out, "\n## %s\n\n%s\n\n", title, text)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(out, "- **%s**: %s.\n", key, all[key])
		}
	}
	domains := map[string]string{}
	for domain, reason := range hyperv1.UnsupportedAnnotationPrefixes() {
		domains[domain+"/…"] = reason
	}
	list("Annotations that need no action", "What these annotations ask for is always so.", hyperv1.InherentAnnotations())
	list("Annotations without effect", "OpenShift reads these annotations. Here they have no effect, and SupportedFields lists them.", hyperv1.UnsupportedAnnotations(), domains)
}

func main() {
	for _, p := range pages {
		text, err := p.render(".")
		if err == nil {
			err = os.WriteFile(p.path, text, 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "writing "+p.path+":", err)
			os.Exit(1)
		}
	}
}

// render returns the page for the repository at root.
func (p page) render(root string) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(p.introduction)
	for _, src := range p.sources {
		blocks, err := src.read(root)
		if err != nil {
			return nil, err
		}
		for _, b := range blocks {
			fmt.Fprintf(&out, "\n## %s\n\n", b.title)
			if b.text != "" {
				fmt.Fprintf(&out, "%s\n\n", b.text)
			}
			for _, l := range b.lines {
				fmt.Fprintf(&out, "- **%s**%s\n", l.word, l.text)
			}
		}
	}
	p.appendix(&out)
	return out.Bytes(), nil
}
