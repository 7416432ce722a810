package report

import (
	"fmt"
	"slices"
	"strings"
)

// Page is docs/benchmarks.md: the sections of the code with these results.
func Page(sections []Section, results *Results) (string, error) {
	merged, err := Merge(sections, results)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	out.WriteString(pageHead)
	summarize(&out, merged)
	for _, s := range merged {
		fmt.Fprintf(&out, "\n## %s\n\n", title(s.Name))
		if m := results.of(s.Name); m != nil {
			fmt.Fprintf(&out, "Measured on %s at commit %s, on %s; load of the machine before: %s.", m.Date.UTC().Format("2006-01-02 15:04 UTC"), short(m.Commit), m.Machine, m.LoadBefore)
		} else {
			out.WriteString("**No measurement.**")
		}
		fmt.Fprintf(&out, " %s\n\n", s.Where)
		PrintMarkdown(&out, s.Rows)
		explain(&out, s.Rows)
	}
	sources(&out, merged)
	return out.String(), nil
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

// summarize counts the goals, and lists those that are missed or have no measurement.
func summarize(out *strings.Builder, sections []Section) {
	goals, met := 0, 0
	var missed, unmeasured []string
	for _, s := range sections {
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
					missed = append(missed, fmt.Sprintf("%s %s |", line, strings.TrimPrefix(f.met(), "NO, ")))
				}
			}
		}
	}
	fmt.Fprintf(out, "\n## Goals\n\nGoals: %d. Met: %d. Missed: %d. Without a measurement: %d.\n", goals, met, len(missed), len(unmeasured))
	if missed != nil {
		fmt.Fprintf(out, "\n### Missed\n\n| figure | measured | goal | measured, as a multiple of the goal |\n|---|---|---|---|\n%s\n", strings.Join(missed, "\n"))
	}
	if unmeasured != nil {
		fmt.Fprintf(out, "\n### Without a measurement\n\n| figure | measured | goal |\n|---|---|---|\n%s\n", strings.Join(unmeasured, "\n"))
	}
}

// explain has the texts that do not fit into a table.
func explain(out *strings.Builder, rows []Row) {
	var notes, details []string
	for _, r := range rows {
		if r.Note != "" && slices.ContainsFunc(r.Figures, Figure.Measured) {
			notes = append(notes, fmt.Sprintf("- %s: %s.", r.What, strings.TrimSuffix(r.Note, ".")))
		}
		for _, f := range r.Figures {
			of := strings.TrimSuffix(r.What+": "+f.Name, ": ")
			if f.Missed() {
				tried := f.Tried
				if tried == "" {
					tried = "nothing yet."
				}
				notes = append(notes, fmt.Sprintf("- **Missed**, %s. Tried: %s", of, tried))
			}
			if f.Detail != "" {
				details = append(details, fmt.Sprintf("- %s: %s", of, f.Detail))
			}
		}
	}
	if notes != nil {
		fmt.Fprintf(out, "\n%s\n", strings.Join(notes, "\n"))
	}
	if details != nil {
		fmt.Fprintf(out, "\n<details><summary>Parts of the figures</summary>\n\n%s\n\n</details>\n", strings.Join(details, "\n"))
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

const pageHead = `<!-- Written by: go run ./test/bench -page. -->

# Benchmarks

What the operators and hosted control planes cost: time, CPU, memory, writes, calls of AWS. Each figure has the goal of this project, and the
figure of other projects where there is one. One command measures all of it on your machine:

` + "```bash" + `
make bench
` + "```" + `

Absolute times depend on the machine, and on what else it does: compare only figures of one run. A figure that was measured several times is
the median. AWS is emulated everywhere: see [What has been run where](tested.md).
`
