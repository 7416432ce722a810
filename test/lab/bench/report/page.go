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
	for _, s := range merged {
		fmt.Fprintf(&out, "\n## %s\n\n%s", title(s.Name), s.Where)
		if m := results.of(s.Name); m != nil {
			fmt.Fprintf(&out, " Measured on %s at commit %s.\n", m.Date.UTC().Format("2006-01-02"), short(m.Commit))
		} else {
			out.WriteString(" **No measurement.**\n")
		}
		table(&out, "| without a goal | figures |", s.Rows, func(f Figure) bool { return f.Goal == nil && f.Measured() })
	}
	sources(&out, merged)
	return out.String(), nil
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

// brief is the figure with its goal and other projects' figures in parentheses.
func (f Figure) brief() string {
	text := f.amount(f.Value())
	if f.Name != "" {
		text = f.Name + ": " + text
	}
	var beside []string
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
	goals, met := 0, 0
	var missed, unmeasured []string
	var all []Row
	for _, s := range sections {
		all = append(all, s.Rows...)
		for _, r := range s.Rows {
			for _, f := range r.Figures {
				if f.Goal == nil {
					continue
				}
				goals++
				line := fmt.Sprintf("| %s | %s | %s |", strings.TrimSuffix(r.What+": "+f.Name, ": "), f.measured(), f.goal())
				switch {
				case !f.Measured():
					unmeasured = append(unmeasured, line)
				case f.Met():
					met++
				default:
					missed = append(missed, line)
				}
			}
		}
	}
	fmt.Fprintf(out, "\n## Goals\n\nGoals: %d. Met: %d. Missed: %d. Without a measurement: %d.\n", goals, met, len(missed), len(unmeasured))
	if missed != nil {
		fmt.Fprintf(out, "\n### Missed\n\n| figure | measured | goal |\n|---|---|---|\n%s\n", strings.Join(missed, "\n"))
	}
	if unmeasured != nil {
		fmt.Fprintf(out, "\n### Without a measurement\n\n| figure | measured | goal |\n|---|---|---|\n%s\n", strings.Join(unmeasured, "\n"))
	}
	if met > 0 {
		out.WriteString("\n### Met\n")
		table(out, "| measured | figures (goal; other projects) |", all, func(f Figure) bool { return f.Goal != nil && f.Met() })
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
		fmt.Fprintf(out, "\n## Figures of others\n\n| Project | Source |\n|---|---|\n%s\n", strings.Join(lines, "\n"))
	}
}

const pageHead = `<!-- Written by: go -C test/lab run ./bench -page. -->

# Benchmarks

The costs of operators and hosted control planes: time, CPU, memory, writes, AWS calls. One command measures all of them on your machine, and
compares them with goals and with other projects:

` + "```bash" + `
make bench
bin/bench -only "at rest" -json FILE   # one section, into a file
` + "```" + `

Absolute times depend on the machine, and on other load: compare only figures of one run. A figure that was measured several times is the
median. AWS is emulated everywhere: see [What has been run where](tested.md).

This page has no details. [results.json](../test/lab/bench/results/results.json) has, for each section, the machine, its load, all samples, the parts
of figures, notes about the measurement, and for each missed goal the efforts so far. ` + "`make bench`" + ` prints them.
`
