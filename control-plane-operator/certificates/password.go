package certificates

import (
	"crypto/rand"
	"fmt"
	"math/big"
)

// letters has no characters that are easily confused.
const letters = "23456789abcdefghijkmnpqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ"

const (
	passwordGroups    = 4
	passwordGroupSize = 5
)

// newPassword generates a password that people can read out: groups of letters with dashes in between, 116 bits.
func newPassword() (string, error) {
	var out []byte
	for group := range passwordGroups {
		if group > 0 {
			out = append(out, '-')
		}
		for range passwordGroupSize {
			n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
			if err != nil {
				return "", fmt.Errorf("making a password: %w", err)
			}
			out = append(out, letters[n.Int64()])
		}
	}
	return string(out), nil
}
