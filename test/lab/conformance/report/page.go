package report

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// ReadAll reads the reports of a directory, named VERSION.json, in the order of these versions. A version without a run has none.
func ReadAll(dir string, versions []string) ([]*Report, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []*Report
	for _, version := range versions {
		file := filepath.Join(dir, version+".json")
		if !slices.Contains(files, file) {
			continue
		}
		r, err := Read(file)
		if err != nil {
			return nil, err
		}
		if r.Version != version || r.Beyond || r.Objects > 0 || !r.complete() {
			return nil, fmt.Errorf("%s is not a complete run of the conformance tests of %s in which nothing else happened", file, version)
		}
		all = append(all, r)
	}
	return all, nil
}

// ReadOthers reads the other reports of a directory, in the order of their file names: of parts, of other control planes, of specs beyond the
// conformance tests, and those during which something happened. Each failed spec beyond the conformance tests must have one of these explanations.
func ReadOthers(dir string, versions []string, explanations []Explanation) ([]*Report, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []*Report
	for _, file := range files {
		if slices.Contains(versions, strings.TrimSuffix(filepath.Base(file), ".json")) {
			continue
		}
		r, err := Read(file)
		if err != nil {
			return nil, err
		}
		if r.Beyond {
			r.Explain(explanations)
			if i := slices.IndexFunc(r.Specs, Spec.unexplained); i >= 0 {
				return nil, fmt.Errorf("%s: no explanation why this spec failed: %s", file, r.Specs[i].Name)
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// Page is docs/conformance.md, for these versions of hosted clusters.
// others are further runs.
func Page(versions []string, reports, others []*Report) string {
	var out strings.Builder
	out.WriteString(pageHead)
	for _, version := range versions {
		fmt.Fprintf(&out, "\n## Kubernetes %s\n\n", version)
		i := slices.IndexFunc(reports, func(r *Report) bool { return r.Version == version })
		if i < 0 {
			out.WriteString("`make conformance` has not run for this version yet.\n")
			continue
		}
		reports[i].section(&out)
	}
	isBeyond := func(r *Report) bool { return r.Beyond && r.complete() }
	writeBeyond(&out, slices.DeleteFunc(slices.Clone(others), func(r *Report) bool { return !isBeyond(r) }))
	others = slices.DeleteFunc(slices.Clone(others), isBeyond)
	if len(others) > 0 {
		out.WriteString(othersHead)
	}
	for _, r := range others {
		r.row(&out)
	}
	if len(others) > 0 {
		out.WriteString("\n")
	}
	for _, r := range others {
		r.problems(&out)
	}
	return out.String()
}

// row is a row of the table of further runs.
func (r *Report) row(out *strings.Builder) {
	specs := cmp.Or(r.Selection, "all")
	if r.Beyond {
		specs += ", beyond conformance"
	}
	fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %s, %s, %.0f minutes |\n",
		cmp.Or(r.During, "nothing"), r.Version, r.cluster(), specs, r.passed(),
		summary(r.Events), r.Date.UTC().Format("2006-01-02"), short(r.Commit), r.Minutes)
}

// problems lists the specs that failed or did not run in a further run. The reports have the messages.
func (r *Report) problems(out *strings.Builder) {
	what := cmp.Or(r.During, "nothing")
	for _, s := range r.Specs {
		if s.State == Failed {
			text := s.Name
			if s.Explanation != "" {
				text += ": " + s.Explanation
			}
			fmt.Fprintf(out, "- %s, failed: %s\n", what, text)
		}
	}
	for _, name := range r.NotRun {
		fmt.Fprintf(out, "- %s, not run: %s\n", what, name)
	}
}

// cluster describes the hosted cluster.
func (r *Report) cluster() string {
	text := fmt.Sprintf("%s, %s, %s in %s", cmp.Or(r.Availability, "SingleReplica"), cmp.Or(r.Access, "PublicAndPrivate"),
		count(r.Workers, "worker"), count(r.Zones, "zone"))
	if r.SharedRouter {
		text += ", shared router"
	}
	if r.Objects > 0 {
		text += ", " + thousands(r.Objects) + " objects"
	}
	return text
}

// thousands is a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// passed counts the specs that passed, and those that did not have to.
func (r *Report) passed() string {
	total := r.Rows()[len(r.Rows())-1]
	text := fmt.Sprintf("%d of %d", total.Passed, total.List)
	if n := r.repeated(); n > 0 {
		text += fmt.Sprintf(", %d of them not at once", n)
	}
	if r.Rounds > 1 {
		text += fmt.Sprintf(", in each of %d rounds", r.Rounds)
	}
	if total.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped themselves", total.Skipped)
	}
	if total.Explained > 0 {
		text += fmt.Sprintf(", %d failed and are explained", total.Explained)
	}
	return text
}

// repeated is the number of specs that passed after they had failed.
func (r *Report) repeated() (n int) {
	for _, s := range r.Specs {
		if s.Attempts > 1 {
			n++
		}
	}
	return n
}

// summary counts events of the same name.
func summary(events []string) string {
	var names []string
	counts := map[string]int{}
	for _, e := range events {
		name, _, _ := strings.Cut(e, ": ")
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d × %s", counts[name], name)
	}
	return strings.Join(names, ", ")
}

func short(commit string) string { return commit[:min(len(commit), 8)] }

// section describes one run.
func (r *Report) section(out *strings.Builder) {
	rows := r.Rows()
	total := rows[len(rows)-1]
	fmt.Fprintf(out, "**%d of %d** specs passed on %s, at commit %s, in %.0f minutes, on a hosted cluster with %s in %s.\n\n",
		total.Passed, total.List, r.Date.UTC().Format("2006-01-02"), short(r.Commit), r.Minutes, count(r.Workers, "worker"), count(r.Zones, "zone"))
	out.WriteString(r.bySIG())
	r.writeMissing(out)
}

// bySIG counts the passed specs of each SIG.
func (r *Report) bySIG() string {
	rows := r.Rows()
	var all []string
	for _, row := range rows[:len(rows)-1] {
		all = append(all, fmt.Sprintf("%s %d of %d", row.SIG, row.Passed, row.List))
	}
	return "Passed: " + strings.Join(all, ", ") + ".\n"
}

// writeMissing lists the specs that failed without a reason that is known, or did not run.
func (r *Report) writeMissing(out *strings.Builder) {
	var rest []string
	for _, s := range r.Specs {
		if s.unexplained() {
			rest = append(rest, "failed: "+s.Name)
		}
	}
	for _, name := range r.NotRun {
		rest = append(rest, "not run: "+name)
	}
	if len(rest) > 0 {
		fmt.Fprintf(out, "\n```\n%s\n```\n", strings.Join(rest, "\n"))
	}
}

// writeBeyond writes the section of specs beyond the conformance tests.
func writeBeyond(out *strings.Builder, reports []*Report) {
	out.WriteString(beyondHead)
	if len(reports) == 0 {
		out.WriteString("\nThey have not run yet.\n")
	}
	for _, r := range reports {
		fmt.Fprintf(out, "\n### Kubernetes %s, beyond conformance\n\n", r.Version)
		total := r.Rows()[len(r.Rows())-1]
		fmt.Fprintf(out, "**%d of %d** specs passed, %d skipped themselves, and %d failed for a reason that is known", total.Passed, total.List, total.Skipped, total.Explained)
		fmt.Fprintf(out, ": on %s, at commit %s, in %.0f minutes, on a hosted cluster (%s).\n\n",
			r.Date.UTC().Format("2006-01-02"), short(r.Commit), r.Minutes, r.cluster())
		out.WriteString(r.bySIG())
		r.writeMissing(out)
		r.writeFailures(out)
		r.writeLeftOut(out)
		r.writeSkipped(out)
	}
}

// writeFailures writes the failed specs with their reasons.
func (r *Report) writeFailures(out *strings.Builder) {
	var reasons []string
	specs := map[string][]string{}
	for _, s := range r.Specs {
		if s.State == Failed && s.Explanation != "" {
			reasons = append(reasons, s.Explanation)
			specs[s.Explanation] = append(specs[s.Explanation], cell(s.Name))
		}
	}
	slices.Sort(reasons)
	writeTable(out, "| failed specs | why |", slices.Compact(reasons), func(reason string) string {
		return fmt.Sprintf("| %s | %s |", strings.Join(specs[reason], "<br>"), cell(reason))
	})
}

// writeLeftOut writes the groups of specs that are left out.
func (r *Report) writeLeftOut(out *strings.Builder) {
	writeTable(out, "| left out | specs | why |", r.LeftOut, func(g LeftOut) string {
		return fmt.Sprintf("| %s | %d | %s |", cell(g.Group), g.Specs, cell(g.Reason))
	})
}

// maxSkipped is the number of messages of skipped specs on the page. The reports have all.
const maxSkipped = 5

// driver is the message of a spec that a driver of volumes does not support.
var driver = regexp.MustCompile(`^Driver \S+ doesn't support (\S+) -- skipping$`)

// writeSkipped counts the messages of specs that skipped themselves, the most frequent ones first.
func (r *Report) writeSkipped(out *strings.Builder) {
	counts := map[string]int{}
	for _, s := range r.Specs {
		if s.State == Skipped {
			counts[driver.ReplaceAllString(firstLine(s.Message), "drivers without $1")]++
		}
	}
	for _, c := range r.Counts {
		if c.State == Skipped {
			counts[c.Message] += c.Specs
		}
	}
	messages := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	if len(messages) > maxSkipped {
		others := fmt.Sprintf("%d other messages", len(messages)-maxSkipped)
		for _, message := range messages[maxSkipped:] {
			counts[others] += counts[message]
		}
		messages = append(messages[:maxSkipped:maxSkipped], others)
	}
	writeTable(out, "| skipped themselves | specs |", messages, func(message string) string {
		return fmt.Sprintf("| %s | %d |", cell(message), counts[message])
	})
}

// writeTable writes a table, unless it has no rows.
func writeTable[T any](out *strings.Builder, head string, rows []T, line func(T) string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n%s|\n", head, strings.Repeat("|---", strings.Count(head, "|")-1))
	for _, row := range rows {
		out.WriteString(line(row) + "\n")
	}
}

// cell is a text in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

const pageHead = `<!-- Written by: go -C test/lab run ./conformance -page. -->

# Conformance

The conformance tests of Kubernetes run on a hosted cluster of the lab, with workers that joined over PrivateLink. A spec of the version's
list that did not run is not passed.

` + "```bash" + `
make conformance                  # the newest version: about half an hour, after the programs are built
make conformance VERSION=1.36.3
make conformance QUICK=1          # API machinery, apps, auth and network without the serial and the slow ones: about 7 minutes
` + "```" + `

The tests are the programs of the version's own release. Tests, images and control plane are built here: Kubernetes 1.37 with
[newer libraries](../hack/binaries/README.md) than its release has, in runs after 2026-11-30, and the images with the differences that
[decision 0077](../hack/decisions/0077-conformance.md) lists. The lab is no certified product, and AWS is emulated: see
[What has been run where](tested.md).
`

const beyondHead = `
## Beyond conformance

Other end-to-end tests of Kubernetes (API machinery, apps, auth, CLI, network, node, storage), without features that a cluster may lack.
A spec may skip itself. A failed spec needs an explanation, or the run fails.

` + "```bash" + `
make conformance BEYOND=1
bin/conformance -beyond -focus sig-cli     # all flags of the conformance tests can be added
` + "```" + `
`

const othersHead = `
## While something happens

The same specs on other control planes, with many objects, and while the control plane is changed or parts of it die. Watches and pending
requests end with their server: during a rotation and deaths a failed spec runs again, twice at most, and the spec of API chunking does not
run. A spec with a leftover object cannot pass then ("already exists"). All specs run again until one event was completed.

` + "```bash" + `
bin/conformance -highly-available -private
bin/conformance -shared-router               # users and nodes come through the shared router of the installation
bin/conformance -version 1.36.3 -during upgrade     # to the newest version
bin/conformance -highly-available -during rotation  # of all certificates, again and again
bin/conformance -highly-available -during deaths    # API servers, members of etcd and routers, one after the other
bin/conformance -highly-available -during machines  # of the management cluster
bin/conformance -objects 100                        # after 30,000 objects were made in the hosted cluster, as in 100 small clusters
` + "```" + `

| what happens | version | cluster | specs | passed | events | run |
|---|---|---|---|---|---|---|
`
