package operation

import (
	"errors"
	"fmt"

	"github.com/hosted-control-planes/hypershift/internal/prerequisites"
)

// Report prints checks that did not pass, and returns those that have failed as one error.
func Report(env Environment, results []prerequisites.Result) error {
	var failed []error
	for _, r := range results {
		text := r.Check + ": " + r.Message
		if r.Action != "" {
			text += "\n  -> " + r.Action
		}
		switch r.Status {
		case prerequisites.Failed:
			failed = append(failed, errors.New(text))
		case prerequisites.Warning:
			fmt.Fprintf(env.Err, "warning: %s\n", text)
		case prerequisites.Unknown:
			fmt.Fprintf(env.Err, "not checked: %s\n", text)
		case prerequisites.Passed:
		}
	}
	return errors.Join(failed...)
}
