// Package report compares the runs of Kubernetes' conformance tests, and of specs beyond them, with the list of specs that must pass.
//
//	list.go     conformance.yaml of a version ─► specs that must run; Selection: a part of them
//	beyond.go   list of other specs ─► specs that must run; groups that are left out, with reasons
//	ginkgo.go   report of ginkgo ─► specs that ran
//	report.go   both ─► Report, which is written as JSON
//	summary.go  Report ─► Report with numbers of specs instead of names, which is committed
//	explain.go  reasons of failures that are known, beyond the conformance tests
//	table.go    Report ─► table by special interest group (SIG)
//	page.go     Reports ─► docs/conformance.md
package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// ReadList reads the names of all conformance specs in the source of Kubernetes, in their order.
func ReadList(source string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(source, "test", "conformance", "testdata", "conformance.yaml"))
	if err != nil {
		return nil, fmt.Errorf("reading the list of specs: %w", err)
	}
	return parseList(text)
}

func parseList(text []byte) ([]string, error) {
	var entries []struct{ Codename string }
	if err := yaml.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("reading the list of specs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.Codename == "" {
			return nil, errors.New("reading the list of specs: an entry has no codename")
		}
		if !slices.Contains(names, e.Codename) {
			names = append(names, e.Codename)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("reading the list of specs: it is empty")
	}
	return names, nil
}

// Selection is a part of the specs. The zero value selects all.
type Selection struct {
	// Focus selects specs by their names.
	Focus *regexp.Regexp
	// Quick selects the specs of some SIGs that can run in parallel and are not slow: see QuickFocus.
	Quick bool
}

// QuickFocus matches the names of specs of the SIGs that find most mistakes in a control plane per minute.
const QuickFocus = `\[sig-(api-machinery|apps|auth|network)\]`

var quick = regexp.MustCompile(QuickFocus)

// Includes reports whether a spec is selected.
func (s Selection) Includes(name string) bool {
	if s.Quick && (!quick.MatchString(name) || Serial(name) || strings.Contains(name, "[Slow]")) {
		return false
	}
	return s.Focus == nil || s.Focus.MatchString(name)
}

// Of returns the selected ones of these names.
func (s Selection) Of(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !s.Includes(name) })
}

// String describes the selection.
func (s Selection) String() string {
	var parts []string
	if s.Quick {
		parts = append(parts, "quick")
	}
	if s.Focus != nil {
		parts = append(parts, "focus "+s.Focus.String())
	}
	return strings.Join(parts, ", ")
}

// Serial reports whether a spec must run alone.
func Serial(name string) bool { return strings.Contains(name, "[Serial]") }

var sigPattern = regexp.MustCompile(`^\[sig-([a-z-]+)\]`)

// SIG is the special interest group of a spec.
func SIG(name string) string {
	if match := sigPattern.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	return "other"
}
