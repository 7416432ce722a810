package privilege

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const begin, end = "<!-- generated: service accounts -->\n", "<!-- end -->\n"

// Page replaces the generated part of docs/permissions.md, which is between begin and end: the permissions of service accounts.
func Page(text string, accounts []Holder) (string, error) {
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", errors.New("the page has no place for the service accounts")
	}
	return before + begin + "\n" + granted(accounts) + "\n" + end + after, nil
}

// granted returns a section for each holder, with a line for each of its rules.
func granted(holders []Holder) string {
	var sections []string
	for _, holder := range holders {
		var w strings.Builder
		fmt.Fprintf(&w, "### %s\n\n", holder.Name)
		for _, grant := range holder.Grants {
			fmt.Fprintf(&w, "- %s\n", strings.TrimSpace(grant.Why+" *"+compact(grant.Rights)+"*"))
		}
		sections = append(sections, w.String())
	}
	return strings.Join(sections, "\n")
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
