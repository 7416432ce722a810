package operation

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
)

// Report prints checks that did not pass, and returns those that have failed as one error. ignore: they are warnings, too.
func Report(env Environment, results []prerequisites.Result, ignore bool) error {
	var failed, unchecked []string
	for _, r := range results {
		text := r.Check + ": " + r.Message
		if r.Action != "" {
			text += "\n  -> " + r.Action
		}
		switch {
		case r.Status == prerequisites.Warning, r.Status == prerequisites.Failed && ignore:
			fmt.Fprintf(env.Err, "warning: %s\n", text)
		case r.Status == prerequisites.Failed:
			failed = append(failed, text)
		case r.Status == prerequisites.Unknown:
			unchecked = append(unchecked, r.Check)
		}
	}
	if len(unchecked) > 0 {
		fmt.Fprintf(env.Err, "not checked, `hypershift doctor` has the reasons: %s\n", strings.Join(unchecked, "; "))
	}
	if len(failed) == 0 {
		return nil
	}
	return errors.New("nothing was created, because checks have failed:\n" + strings.Join(failed, "\n"))
}
