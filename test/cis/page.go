package cis

import (
	"fmt"
	"slices"
	"strings"
)

const begin, end = "<!-- generated: recommendations -->\n", "<!-- end -->\n"

// Page replaces the generated part of docs/cis.md.
func Page(text string) (string, error) {
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("the page has no place for the recommendations")
	}
	return before + begin + "\n" + tables() + "\n" + end + after, nil
}

func tables() string {
	var w strings.Builder
	counts := map[Result]int{}
	for _, r := range table {
		counts[r.Result] += len(r.ids())
	}
	fmt.Fprintln(&w, "| Result | Recommendations |\n|---|---|")
	for _, result := range []Result{Met, Optional, Differs, NotApplicable} {
		fmt.Fprintf(&w, "| %s | %d |\n", result, counts[result])
	}
	for _, section := range sections {
		fmt.Fprintf(&w, "\n### %s %s\n", section.ID, section.Title)
		var met []string
		var rows strings.Builder
		for _, r := range table {
			switch {
			case r.section() != section.ID:
			case r.Result == Met && r.Reason == "":
				met = append(met, r.ID+" "+r.What)
			default:
				fmt.Fprintf(&rows, "- %s %s. **%s**: %s\n", r.ID, r.What, r.Result, r.Reason)
			}
		}
		if met != nil {
			fmt.Fprintf(&w, "\nMet: %s.\n", strings.Join(met, "; "))
		}
		if rows.Len() > 0 {
			fmt.Fprintf(&w, "\n%s", rows.String())
		}
	}
	return w.String()
}

// ids returns each number of a range.
func (r Recommendation) ids() []string {
	first, last, ranged := strings.Cut(r.ID, "-")
	ids := []string{first}
	for ranged && !slices.Contains(ids, last) && len(ids) < 100 {
		var number int
		prefix, _ := cut(first)
		_, at := cut(ids[len(ids)-1])
		if _, err := fmt.Sscan(at, &number); err != nil {
			return nil
		}
		ids = append(ids, fmt.Sprintf("%s.%d", prefix, number+1))
	}
	return ids
}

func (r Recommendation) section() string {
	prefix, _ := cut(r.ids()[0])
	return prefix
}

// cut returns the section and the last part of a number.
func cut(id string) (section, last string) {
	at := strings.LastIndex(id, ".")
	return id[:at], id[at+1:]
}
