package fakeaws

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// attributes are the filters of a kind of resource, in addition to its tags: the
// name of the filter, and the values the resource has for it.
type attributes[T resource] map[string]func(*request, T) []string

// one makes an attribute of a field with a single value.
func one[T resource](value func(T) string) func(*request, T) []string {
	return func(_ *request, item T) []string { return []string{value(item)} }
}

// filter is a parsed filter: a match of any value is a match of the filter.
type filter struct {
	name   string
	values []string
	wild   bool
	match  func(string) bool
}

func (f filter) tagKey() (string, bool) { return strings.CutPrefix(f.name, "tag:") }

// list answers a Describe call: the resources with these ids, all of which must
// exist, or all; of them the ones that every filter matches; of those one page.
func list[T resource](q *request, s *store[T], ids []string, in []types.Filter, known attributes[T], page page) ([]T, *string, error) {
	filters, err := parseFilters(q, in, known)
	if err != nil {
		return nil, nil, err
	}
	items := s.candidates(filters)
	if len(ids) > 0 {
		items = make([]T, 0, len(ids))
		for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
			item, err := s.find(q, id)
			if err != nil {
				return nil, nil, err
			}
			items = append(items, item)
		}
	}
	return paginate(q, items, page, func(item T) bool {
		if len(ids) == 0 && q.now.Before(item.base().born.Add(q.cloud.delays.Listed)) {
			return false
		}
		return matches(q, item, filters, known)
	})
}

func parseFilters[T resource](q *request, in []types.Filter, known attributes[T]) ([]filter, error) {
	filters := make([]filter, 0, len(in))
	for _, f := range in {
		name := aws.ToString(f.Name)
		if !strings.HasPrefix(name, "tag:") && name != "tag-key" && known[name] == nil {
			q.misuse("%s: filter %q is not one of %v", q.operation, name, keys(known))
			return nil, ec2Error("InvalidParameterValue", fmt.Sprintf("The filter '%s' is invalid", name))
		}
		if len(f.Values) == 0 {
			return nil, ec2Error("InvalidParameterValue", "The filter '"+name+"' has no values")
		}
		if len(f.Values) > 200 {
			return nil, ec2Error("FilterLimitExceeded", "The maximum number of filter values specified on a single call is 200")
		}
		filters = append(filters, newFilter(name, f.Values))
	}
	return filters, nil
}

func newFilter(name string, values []string) filter {
	f := filter{name: name, values: values}
	f.match = func(s string) bool { return slices.Contains(values, s) }
	if slices.ContainsFunc(values, func(v string) bool { return strings.ContainsAny(v, "*?") }) {
		f.wild = true
		pattern := wildcards(values)
		f.match = pattern.MatchString
	}
	return f
}

// wildcards: * is any text and ? one character in the filters of EC2; a backslash takes the meaning away.
func wildcards(values []string) *regexp.Regexp {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte('|')
		}
		b.WriteString("^")
		escaped := false
		for _, r := range v {
			switch {
			case r == '\\' && !escaped:
				escaped = true
				continue
			case r == '*' && !escaped:
				b.WriteString("(?s:.*)")
			case r == '?' && !escaped:
				b.WriteString("(?s:.)")
			default:
				b.WriteString(regexp.QuoteMeta(string(r)))
			}
			escaped = false
		}
		b.WriteString("$")
	}
	return regexp.MustCompile(b.String())
}

func matches[T resource](q *request, item T, filters []filter, known attributes[T]) bool {
	for _, f := range filters {
		if !slices.ContainsFunc(values(q, item, f, known), f.match) {
			return false
		}
	}
	return true
}

// values returns the resource's values for the filter.
func values[T resource](q *request, item T, f filter, known attributes[T]) []string {
	tags := item.base().tags
	if key, ok := f.tagKey(); ok {
		if v, ok := tags[key]; ok {
			return []string{v}
		}
		return nil
	}
	if f.name == "tag-key" {
		return keys(tags)
	}
	return known[f.name](q, item)
}

func keys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	slices.Sort(names)
	return names
}
