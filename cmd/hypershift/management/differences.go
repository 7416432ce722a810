package management

import (
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustermanifests"
)

// RefuseDifferences returns a usage error if an existing object has other values than a command requests: `create` changes no object, and
// must not pretend to.
func RefuseDifferences(title string, existing, desired client.Object) error {
	found, err := clustermanifests.Differences(existing, desired)
	if err != nil || len(found) == 0 {
		return err
	}
	return &operation.UsageError{Err: fmt.Errorf("%s exists with other values than this command has:\n  %s\nPass the values that exist, or change them with kubectl: `create` does not change objects",
		title, strings.Join(found, "\n  "))}
}
