// Constantsdoc generates docs/conditions.md and docs/annotations.md from the comments of constants. Each block of constants that
// belongs to a page becomes a section, and each constant a line. Users and developers read the same text.
package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

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

A condition type is followed by the state in which it is True, which is good unless its line differs. Unknown means that the state could
not be determined, and is not False. If a condition is not good, its message names the object, the field or the error: correct what it
names. A reason without an action needs none, unless it persists; the operator retries. A condition that an object does not have does
not apply to it. Programs wait for Ready: ` + "`kubectl wait --for=condition=Ready hostedcluster/example`" + `.

Conditions of OpenShift that are absent: ClusterVersionRetrievedUpdates and ClusterVersionUpgradeable (ValidReleaseImage checks each
upgrade), IgnitionEndpointAvailable (machines get their configuration in their user data), ValidIDPConfiguration (ValidConfiguration
checks OIDC providers), EtcdRecoveryActive, HostedClusterRestoredFromBackup, PublicEndpointExposed, CVOScaledDown,
and those about the size of a cluster.
`,
		sources: []source{
			{dir: "api/hypershift/v1beta1", begins: []string{"Condition"}},
			{dir: "api/hypershift/v1beta1", begins: []string{"Reasons"}},
			{dir: "api/certificates/v1alpha1", begins: []string{"Conditions", "Reasons"}},
			{dir: "internal/awsx", begins: []string{"The kinds"}, title: "Reasons for errors of AWS"},
		},
		appendix: func(*bytes.Buffer) {},
	},
	{
		path: "docs/annotations.md",
		introduction: `# Annotations

A value that cannot be used is reported by ValidConfiguration of a HostedCluster, and by the condition that the annotation concerns on a
NodePool, as ValidPlatformImage. SupportedFields lists annotations of the domain hypershift.openshift.io that have no effect: those of
[the last section](#annotations-without-effect), and those that are not on this page.
`,
		sources:  []source{{dir: "api/hypershift/v1beta1", begins: []string{"Annotations"}}},
		appendix: withoutEffect,
	},
}

// withoutEffect lists annotations that users of OpenShift may have.
func withoutEffect(out *bytes.Buffer) {
	list := func(title, text string, tables ...map[string]string) {
		keys := map[string][]string{}
		for _, table := range tables {
			for _, key := range slices.Sorted(maps.Keys(table)) {
				keys[table[key]] = append(keys[table[key]], "**"+key+"**")
			}
		}
		var lines []string
		for reason, sharing := range keys {
			lines = append(lines, fmt.Sprintf("- %s: %s.\n", strings.Join(sharing, ", "), reason))
		}
		slices.Sort(lines)
		fmt.Fprintf(out, "\n## %s\n\n%s\n\n%s", title, text, strings.Join(lines, ""))
	}
	domains := map[string]string{}
	for domain, reason := range hyperv1.UnsupportedAnnotationPrefixes() {
		domains[domain+"/…"] = reason
	}
	list("Annotations that need no action", "These annotations ask for what is always so.", hyperv1.InherentAnnotations())
	list("Annotations without effect", "OpenShift reads these annotations.", hyperv1.UnsupportedAnnotations(), domains)
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
