package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// State is the result of a spec.
type State string

// The states of specs. Failed has all states of ginkgo in which a spec has not ended well.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Spec is a spec that ran.
type Spec struct {
	Name    string  `json:"name"`
	State   State   `json:"state"`
	Seconds float64 `json:"seconds"`
	// Attempts is how often it ran until it passed, if more than once.
	Attempts int `json:"attempts,omitempty"`
	// Message is why it failed or skipped itself.
	Message string `json:"message,omitempty"`
	// Explanation is the reason of a failure that is known: see Explanations.
	Explanation string `json:"explanation,omitempty"`
}

// ginkgoSuite is the part of a report of ginkgo that is used.
type ginkgoSuite struct {
	SpecialSuiteFailureReasons []string
	SpecReports                []struct {
		ContainerHierarchyTexts []string
		LeafNodeType            string
		LeafNodeText            string
		State                   string
		RunTime                 time.Duration
		NumAttempts             int
		Failure                 struct{ Message string }
	}
}

// Parse reads a report of ginkgo. It returns the specs that ran, and why the suite itself failed, such as in its preparation.
func Parse(r io.Reader) (specs []Spec, problems []string, err error) {
	var suites []ginkgoSuite
	if err := json.NewDecoder(r).Decode(&suites); err != nil {
		return nil, nil, fmt.Errorf("reading the report of ginkgo: %w", err)
	}
	for _, suite := range suites {
		for _, reason := range suite.SpecialSuiteFailureReasons {
			if reason != "" {
				problems = append(problems, reason)
			}
		}
		for _, s := range suite.SpecReports {
			message := strings.TrimSpace(s.Failure.Message)
			if s.LeafNodeType != "It" {
				if s.State != "passed" && s.State != "skipped" && s.State != "pending" {
					problems = append(problems, s.LeafNodeType+": "+message)
				}
				continue
			}
			spec := Spec{Name: join(append(s.ContainerHierarchyTexts, s.LeafNodeText)), Seconds: s.RunTime.Round(time.Millisecond).Seconds(), Message: message}
			switch s.State {
			case "passed":
				spec.State = Passed
				if s.NumAttempts > 1 {
					spec.Attempts = s.NumAttempts
				}
			case "pending":
				continue
			case "skipped":
				// Specs that are not selected have no message.
				if message == "" {
					continue
				}
				spec.State = Skipped
			default:
				spec.State = Failed
				if message == "" {
					spec.Message = s.State
				}
			}
			specs = append(specs, spec)
		}
	}
	return specs, problems, nil
}

// join is the name of a spec, without the empty texts of containers.
func join(texts []string) string {
	var parts []string
	for _, text := range texts {
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}
