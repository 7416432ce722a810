package report

import (
	"fmt"
	"slices"
	"strings"
)

// Explanation is why specs beyond the conformance tests fail, although the cluster works.
type Explanation struct {
	// Specs are names of specs, or parts of names that several have in common.
	Specs  []string
	Reason string
	// Version is the version of Kubernetes in which the specs fail; empty: any.
	Version string
}

// Explanations are all that are known. A failed spec without one fails a run with -beyond. After a new entry,
// `go -C test/lab run ./conformance -page` adds the reason to reports that were written before.
var Explanations = []Explanation{
	{
		Specs: []string{"PrivilegedPod [NodeConformance] should enable privileged commands"},
		Reason: "The kernel of the machine had no dummy network devices, which the spec creates (RTNETLINK answers: Operation not supported); a privileged " +
			"container may create others.",
	},
	{
		Specs:  []string{"Simple pod should return command exit codes should handle in-cluster config"},
		Reason: "The image of agnhost had no printenv. It has been added since; the spec has not run again.",
	},
}

// of reports whether an explanation is one for a version.
func (e Explanation) of(version string) bool { return e.Version == "" || e.Version == version }

// Explain sets the reasons of failed specs. Stale becomes the parts of names in explanations that no failed spec has, if a spec of this run has it,
// or if the run had all specs.
func (r *Report) Explain(all []Explanation) {
	all = slices.DeleteFunc(slices.Clone(all), func(e Explanation) bool { return !e.of(r.Version) })
	for i, s := range r.Specs {
		r.Specs[i].Explanation = ""
		n := slices.IndexFunc(all, func(e Explanation) bool { return hasPart(s.Name, e.Specs) })
		if s.State == Failed && n >= 0 {
			r.Specs[i].Explanation = all[n].Reason
		}
	}
	r.Stale = nil
	for _, e := range all {
		for _, part := range e.Specs {
			if !r.failed(part) && (r.complete() || r.ran(part)) {
				r.Stale = append(r.Stale, part)
			}
		}
	}
}

// complete reports whether the run had all specs, without a disturbance.
func (r *Report) complete() bool { return r.Selection == "" && r.During == "" }

// failed reports whether a spec with this part in its name failed.
func (r *Report) failed(part string) bool {
	return slices.ContainsFunc(r.Specs, func(s Spec) bool { return s.State == Failed && strings.Contains(s.Name, part) })
}

// ran reports whether a spec with this part in its name ran.
func (r *Report) ran(part string) bool {
	return slices.ContainsFunc(r.Specs, func(s Spec) bool { return strings.Contains(s.Name, part) })
}

// unexplained reports whether a spec failed without a reason that is known.
func (s Spec) unexplained() bool { return s.State == Failed && s.Explanation == "" }

// Notes are lines about specs that do not fail the run: those that failed for a reason that is known, and explanations that are stale.
func (r *Report) Notes() []string {
	var lines []string
	for _, s := range r.Specs {
		if s.State == Failed && s.Explanation != "" {
			lines = append(lines, fmt.Sprintf("failed, explained: %s: %s", s.Name, s.Explanation))
		}
	}
	for _, part := range r.Stale {
		lines = append(lines, "stale explanation, because no such spec failed: "+part)
	}
	return lines
}
