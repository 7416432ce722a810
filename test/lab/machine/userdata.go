package machine

import (
	"fmt"
	"os"
)

// userData is what the instance was started with.
func (a *agent) userData() ([]byte, error) {
	text, err := os.ReadFile(a.path(UserData))
	if err != nil {
		return nil, fmt.Errorf("reading the user data: %w", err)
	}
	return text, nil
}
