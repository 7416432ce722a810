package privilege

import (
	"cmp"
	"fmt"
	"maps"
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

// granted returns a section for each holder, with a row for each of its rules, or a line if it has no third column.
func granted(holders []Holder, columns ...string) string {
	var sections []string
	for _, holder := range holders {
		var w strings.Builder
		fmt.Fprintf(&w, "### %s\n\n", holder.Name)
		if len(columns) == 2 {
			for _, grant := range holder.Grants {
				fmt.Fprintf(&w, "- %s\n", strings.TrimSpace(grant.Why+" *"+compact(grant.Rights)+"*"))
			}
			sections = append(sections, w.String())
			continue
		}
		table(&w, columns...)
		for _, grant := range holder.Grants {
			where := grant.Where
			for _, tag := range tags {
				where = strings.ReplaceAll(where, tag.condition, tag.term)
			}
			row(&w, grant.Why, compact(grant.Rights), where)
		}
		sections = append(sections, w.String())
	}
	return strings.Join(sections, "\n")
}

// tags are the terms of the page for conditions about a cluster's tag.
var tags = []struct{ condition, term string }{
	{"if `aws:RequestTag/kubernetes.io/cluster/${INFRA_ID}` is `owned`", "tagged"},
	{"if `aws:ResourceTag/kubernetes.io/cluster/${INFRA_ID}` is `owned`", "owned"},
}

// verbs are the terms of the page for sets of verbs, the larger set first.
var verbs = []struct {
	term string
	set  []string
}{
	{"manage", []string{"create", "delete", "get", "list", "patch", "watch"}},
	{"read", []string{"get", "list", "watch"}},
}

// compact names the things with equal verbs together.
func compact(rights []Right) string {
	byThing := map[string][]string{}
	for _, right := range rights {
		byThing[right.Thing] = append(byThing[right.Thing], right.Verb)
	}
	byVerbs := map[string][]string{}
	for _, thing := range slices.Sorted(maps.Keys(byThing)) {
		allowed := byThing[thing]
		slices.Sort(allowed)
		terms := strings.Join(abbreviated(slices.Compact(allowed)), ", ")
		byVerbs[terms] = append(byVerbs[terms], thing)
	}
	var parts []string
	for terms, things := range byVerbs {
		parts = append(parts, strings.Join(things, ", ")+": "+terms)
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// abbreviated replaces a set of verbs by its term.
func abbreviated(allowed []string) []string {
	for _, v := range verbs {
		missing := slices.ContainsFunc(v.set, func(verb string) bool { return !slices.Contains(allowed, verb) })
		if missing {
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(allowed), func(verb string) bool { return slices.Contains(v.set, verb) })
		return append([]string{v.term}, rest...)
	}
	return allowed
}

// reasons returns a list of permissions that are granted although no test uses them, with a line for each reason.
func reasons(all []Reason) string {
	var order []string
	by := map[string][]string{}
	for _, r := range all {
		if by[r.Why] == nil {
			order = append(order, r.Why)
		}
		by[r.Why] = append(by[r.Why], "**"+r.Holder+"** "+r.Thing+" "+cmp.Or(strings.Join(abbreviated(r.Verbs), ", "), "all"))
	}
	var w strings.Builder
	for _, why := range order {
		fmt.Fprintf(&w, "- %s: %s\n", strings.Join(by[why], "; "), why)
	}
	return w.String()
}
