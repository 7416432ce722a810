package privilege

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Page replaces the generated parts of docs/permissions.md, which are between <!-- generated: NAME --> and <!-- end -->.
func Page(text string, accounts, roles []Holder) (string, error) {
	for name, block := range map[string]string{
		"service accounts":           granted(accounts, "Purpose", "Permissions"),
		"roles":                      granted(roles, "Statement", "Actions", "Resources and conditions"),
		"unused by service accounts": reasons(unusedByAccounts),
		"unused by roles":            reasons(unusedByRoles),
	} {
		begin, end := "<!-- generated: "+name+" -->\n", "<!-- end -->\n"
		before, rest, ok := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			return "", fmt.Errorf("the page has no place for %q", name)
		}
		text = before + begin + "\n" + block + "\n" + end + after
	}
	return text, nil
}

// granted returns a section for each holder, with a row for each of its rules.
func granted(holders []Holder, columns ...string) string {
	var sections []string
	for _, holder := range holders {
		var w strings.Builder
		fmt.Fprintf(&w, "### %s\n\n", holder.Name)
		table(&w, columns...)
		for _, grant := range holder.Grants {
			cells := []string{grant.Why, words(slices.SortedFunc(slices.Values(grant.Rights), compare)), grant.Where}
			row(&w, cells[:len(columns)]...)
		}
		sections = append(sections, w.String())
	}
	return strings.Join(sections, "\n")
}

// reasons returns a table of permissions that are granted although no test uses them.
func reasons(all []Reason) string {
	var w strings.Builder
	table(&w, "Identity", "Permissions", "Reason")
	for _, r := range all {
		row(&w, r.Holder, r.Thing+": "+cmp.Or(strings.Join(r.Verbs, ", "), "all"), r.Why)
	}
	return w.String()
}
