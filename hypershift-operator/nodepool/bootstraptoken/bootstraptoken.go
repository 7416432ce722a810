// Package bootstraptoken creates the tokens with which machines join.
package bootstraptoken

import (
	"fmt"
	"io"

	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
)

// New creates the ID and the secret of a token from random bytes.
func New(random io.Reader) (id, secret string, err error) {
	const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"
	const fair = 256 - 256%len(alphabet)
	text := make([]byte, 0, bootstrapapi.BootstrapTokenIDBytes+bootstrapapi.BootstrapTokenSecretBytes)
	for one := make([]byte, 1); len(text) < cap(text); {
		if _, err := io.ReadFull(random, one); err != nil {
			return "", "", fmt.Errorf("making a bootstrap token: %w", err)
		}
		if int(one[0]) < fair { // larger bytes would make the first letters more frequent
			text = append(text, alphabet[int(one[0])%len(alphabet)])
		}
	}
	return string(text[:bootstrapapi.BootstrapTokenIDBytes]), string(text[bootstrapapi.BootstrapTokenIDBytes:]), nil
}
