package report

import (
	"fmt"
	"slices"
	"strings"
)

// Page is docs/benchmarks.md: the sections of the code with these results. Notes, parts of figures, efforts for missed goals and machines are
// only in the file of results.
func Page(sections []Section, results *Results) (string, error) {
	merged, err := Merge(sections, results)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString(pageHead)
	summarize(&out, merged)
	out.WriteString("\n## Figures and goals\n\n![Each measured figure as a multiple of its goal, with the figures of other projects](images/benchmarks.svg)\n")
	measurements(&out, merged, results)
	out.WriteString("\n## Figures without a goal\n")
	table(&out, "| measured | figures |", rowsOf(merged), func(f Figure) bool { return f.Goal == nil && f.Measured() })
	sources(&out, merged)
	return out.String(), nil
}

// rowsOf returns the rows of all sections.
func rowsOf(sections []Section) []Row {
	var all []Row
	for _, s := range sections {
		all = append(all, s.Rows...)
	}
	return all
}

// measurements has a row for each section: its date and commit, and where it runs unless that is as in the row before.
func measurements(out *strings.Builder, sections []Section, results *Results) {
	out.WriteString("\n## Sections\n\n| section | measured | environment |\n|---|---|---|\n")
	var place string
	for _, s := range sections {
		where, measured := s.Where, "no"
		if m := results.of(s.Name); m != nil {
			measured = m.Date.UTC().Format("2006-01-02") + " at " + short(m.Commit)
		}
		if where == place {
			where = "as above"
		}
		place = s.Where
		fmt.Fprintf(out, "| %s | %s | %s |\n", title(s.Name), measured, where)
	}
}

// table has one line for each row with selected figures.
func table(out *strings.Builder, heading string, rows []Row, selected func(Figure) bool) {
	var lines []string
	for _, r := range rows {
		var figures []string
		for _, f := range r.Figures {
			if selected(f) {
				figures = append(figures, f.brief())
			}
		}
		if figures != nil {
			lines = append(lines, fmt.Sprintf("| %s | %s |", r.What, strings.Join(figures, "; ")))
		}
	}
	if lines != nil {
		fmt.Fprintf(out, "\n%s\n|---|---|\n%s\n", heading, strings.Join(lines, "\n"))
	}
}

// brief is the figure with its goal, other projects' figures and, if it misses its goal, its lowest sample in parentheses.
func (f Figure) brief() string {
	text := f.measured()
	var beside []string
	if f.Measured() {
		text = f.amount(f.Value())
	}
	if low := f.lowest(); low != "" && f.Missed() {
		beside = append(beside, low)
	}
	if f.Name != "" {
		text = f.Name + ": " + text
	}
	if f.Goal != nil {
		beside = append(beside, f.goal())
	}
	for _, o := range f.Others {
		beside = append(beside, o.Project+" "+o.Value)
	}
	if beside != nil {
		text += " (" + strings.Join(beside, "; ") + ")"
	}
	return text
}

// title is the heading of a section.
func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func short(commit string) string {
	hash, changed, _ := strings.Cut(commit, "-")
	if len(hash) > 8 {
		hash = hash[:8]
	}
	if changed != "" {
		hash += " with changes"
	}
	return hash
}

// summarize counts the goals, and has them in tables: missed, without a measurement, and met.
func summarize(out *strings.Builder, sections []Section) {
	all := rowsOf(sections)
	unmeasured := func(f Figure) bool { return f.Goal != nil && !f.Measured() }
	met := func(f Figure) bool { return f.Goal != nil && f.Met() }
	count := func(selected func(Figure) bool) int {
		n := 0
		for _, r := range all {
			for _, f := range r.Figures {
				if selected(f) {
					n++
				}
			}
		}
		return n
	}
	goals := count(func(f Figure) bool { return f.Goal != nil })
	fmt.Fprintf(out, "\n## Goals\n\nGoals: %d. Met: %d. Missed: %d. Without a measurement: %d.\n", goals, count(met), count(Figure.Missed), count(unmeasured))
	for _, part := range []struct {
		title    string
		selected func(Figure) bool
	}{{"Missed", Figure.Missed}, {"Without a measurement", unmeasured}, {"Met", met}} {
		if count(part.selected) > 0 {
			fmt.Fprintf(out, "\n### %s\n", part.title)
			table(out, "| measured | figures (goal; other projects) |", all, part.selected)
		}
	}
}

// sources lists where the figures of other projects are from.
func sources(out *strings.Builder, sections []Section) {
	var lines []string
	for _, s := range sections {
		for _, r := range s.Rows {
			for _, f := range r.Figures {
				for _, o := range f.Others {
					if line := fmt.Sprintf("| %s | %s |", o.Project, o.Source); !slices.Contains(lines, line) {
						lines = append(lines, line)
					}
				}
			}
		}
	}
	slices.Sort(lines)
	if lines != nil {
		fmt.Fprintf(out, "\n## Figures of others\n\nMeasured by this project, except for Amazon EKS and HyperShift (CLI).\n\n| Project | Source |\n|---|---|\n%s\n", strings.Join(lines, "\n"))
	}
}

const pageHead = `<!-- Written by: go -C test/lab run ./bench -page. -->

# Benchmarks

The costs of operators and hosted control planes: time, CPU, memory, writes, AWS calls. One command measures all of them on your machine, and
compares them with goals and with other projects:

` + "```bash" + `
make bench
make bench-counts                      # only writes and AWS calls; fails if there are more than in the committed results
bin/bench -only "at rest" -json FILE   # one section, into a file
` + "```" + `

Absolute times depend on the machine, and on other load: compare only figures of one run. A figure that was measured several times is the
median. AWS is emulated everywhere: see [What has been run where](tested.md).

[results.json](../test/lab/bench/results/results.json) has, for each section, the machine, its load, all samples, the parts of figures,
notes, and the efforts for each missed goal. ` + "`make bench`" + ` prints them, and at the end the figures that are worse than these results by
more than noise.
`
