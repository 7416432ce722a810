package report

import (
	"cmp"
	"fmt"
	"path/filepath"
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
		if r.Version != version || r.Selection != "" || r.During != "" {
			return nil, fmt.Errorf("%s is not a complete run of %s in which nothing else happened", file, version)
		}
		all = append(all, r)
	}
	return all, nil
}

// ReadOthers reads the other reports of a directory, in the order of their file names: of parts, of other control planes, and those during which
// something happened.
func ReadOthers(dir string, versions []string) ([]*Report, error) {
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
	if len(others) > 0 {
		out.WriteString(othersHead)
	}
	for _, r := range others {
		r.row(&out)
	}
	return out.String()
}

// row is a row of the table of further runs.
func (r *Report) row(out *strings.Builder) {
	total := r.Rows()[len(r.Rows())-1]
	passed := fmt.Sprintf("%d of %d", total.Passed, total.List)
	if n := r.repeated(); n > 0 {
		passed += fmt.Sprintf(", %d of them not at once", n)
	}
	fmt.Fprintf(out, "| %s | %s | %s, %s, %s | %s | %s | %s | %s, %s, %.0f minutes |\n",
		cmp.Or(r.During, "nothing"), r.Version, cmp.Or(r.Availability, "SingleReplica"), cmp.Or(r.Access, "PublicAndPrivate"),
		count(r.Workers, "worker")+" in "+count(r.Zones, "zone"), cmp.Or(r.Selection, "all"), passed,
		summary(r.Events), r.Date.UTC().Format("2006-01-02"), short(r.Commit), r.Minutes)
	for _, s := range r.Specs {
		if s.State == Failed {
			fmt.Fprintf(out, "| | | | | failed | %s | |\n", s.Name)
		}
	}
	for _, name := range r.NotRun {
		fmt.Fprintf(out, "| | | | | not run | %s | |\n", name)
	}
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
	out.WriteString(r.markdown())
	var rest []string
	for _, s := range r.Specs {
		if s.State == Failed {
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

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

const pageHead = `<!-- Written by: go run ./test/conformance -page. -->

# Conformance

The conformance tests of Kubernetes are the part of its end-to-end tests that each cluster must pass. They run on a hosted cluster of the
lab, with workers that joined over PrivateLink. Each version of Kubernetes has a list of them, which is compared with what ran: a spec that is in
the list and did not run is not passed.

` + "```bash" + `
make conformance                  # the newest version: about half an hour, after the programs are built
make conformance VERSION=1.35.4
make conformance QUICK=1          # API machinery, apps, auth and network without the serial and the slow ones: about 7 minutes
` + "```" + `

The tests are the programs of the version's own release. Their images are built from the same modules and from Debian packages, like all images
of the lab: [decision 0077](../hack/decisions/0077-conformance.md) lists what differs.
The lab is no certified product, and AWS is emulated: see [What has been run where](tested.md).
`

const othersHead = `
## While something happens

The same specs on other control planes, and while the control plane is changed or parts of it die. No spec may fail that passes at rest.
When servers die abruptly, requests that they have are lost: most specs do not repeat a request, so a spec that fails runs again, twice at most. The spec of API
chunking does not run then, because it ends the process of the tests.

` + "```bash" + `
bin/conformance -highly-available -private
bin/conformance -version 1.35.4 -during upgrade     # to the newest version
bin/conformance -during rotation                    # of all certificates, again and again
bin/conformance -highly-available -during deaths    # API servers, members of etcd and routers, one after the other
bin/conformance -highly-available -during machines  # of the management cluster
` + "```" + `

| what happens | version | cluster | specs | passed | events | run |
|---|---|---|---|---|---|---|
`
