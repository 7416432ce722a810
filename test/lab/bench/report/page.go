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
	var all []Row
	for _, s := range merged {
		if !s.hasGoal() {
			all = append(all, s.Rows...)
		}
	}
	out.WriteString("\n## Sections without a goal\n")
	list(&out, all, Figure.Measured)
	environments(&out, merged, results)
	sources(&out, merged)
	return out.String(), nil
}

// hasGoal reports whether a figure of the section has a goal.
func (s Section) hasGoal() bool {
	return slices.ContainsFunc(s.Rows, func(r Row) bool {
		return slices.ContainsFunc(r.Figures, func(f Figure) bool { return f.Goal != nil })
	})
}

// list has one line for each row with selected figures.
func list(out *strings.Builder, rows []Row, selected func(Figure) bool) {
	var lines []string
	for _, r := range rows {
		var figures []string
		for _, f := range r.Figures {
			if selected(f) {
				figures = append(figures, f.brief())
			}
		}
		if figures != nil {
			lines = append(lines, fmt.Sprintf("- **%s.** %s", r.What, strings.Join(figures, "; ")))
		}
	}
	if lines != nil {
		fmt.Fprintf(out, "\n%s\n", strings.Join(lines, "\n"))
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

// environments lists the sections that were measured in the same environment, with the date and the commit of each.
func environments(out *strings.Builder, sections []Section, results *Results) {
	var order []string
	by := map[string][]string{}
	for _, s := range sections {
		text := "**" + s.Name + "** (not measured)"
		if m := results.of(s.Name); m != nil {
			text = fmt.Sprintf("**%s** (%s, %s)", s.Name, m.Date.UTC().Format("2006-01-02"), short(m.Commit))
		}
		if by[s.Where] == nil {
			order = append(order, s.Where)
		}
		by[s.Where] = append(by[s.Where], text)
	}
	out.WriteString("\n## Environments\n\nSections (date and commit of the measurement), and what is real in them:\n\n")
	for _, where := range order {
		fmt.Fprintf(out, "- %s: %s\n", strings.Join(by[where], ", "), where)
	}
}

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
	goals, met, missed := 0, 0, 0
	var unmeasured []string
	var all []Row
	for _, s := range sections {
		all = append(all, s.Rows...)
		for _, r := range s.Rows {
			for _, f := range r.Figures {
				if f.Goal == nil {
					continue
				}
				goals++
				switch {
				case !f.Measured():
					unmeasured = append(unmeasured, fmt.Sprintf("| %s | %s | %s |", strings.TrimSuffix(r.What+": "+f.Name, ": "), f.measured(), f.goal()))
				case f.Met():
					met++
				default:
					missed++
				}
			}
		}
	}
	fmt.Fprintf(out, "\n## Goals\n\nGoals: %d. Met: %d. Missed: %d. Without a measurement: %d. In parentheses are the goal and other projects.\n", goals, met, missed, len(unmeasured))
	if missed > 0 {
		out.WriteString("\n### Missed\n")
		list(out, all, func(f Figure) bool { return f.Goal != nil && f.Missed() })
	}
	if unmeasured != nil {
		fmt.Fprintf(out, "\n### Without a measurement\n\n| figure | measured | goal |\n|---|---|---|\n%s\n", strings.Join(unmeasured, "\n"))
	}
	if met > 0 {
		out.WriteString("\n### Met\n")
		list(out, all, func(f Figure) bool { return f.Goal != nil && f.Met() })
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

` + "`make bench`" + ` measures the costs of operators and hosted control planes on your machine, and compares them with goals and with other projects:

` + "```bash" + `
make bench
bin/bench -only "at rest" -json FILE   # one section, into a file
` + "```" + `

Compare only figures of one run: they depend on the machine and its load. Repeated measurements are a median. AWS is emulated everywhere: see
[What has been run where](tested.md). [results.json](../test/bench/results/results.json) has all figures, samples, machines, notes, and
the efforts for each missed goal.
`
