package redact

import (
	"strings"
	"testing"
)

// What a Secret has is in no text that leaves the management cluster.
func FuzzText(f *testing.F) {
	for _, value := range []string{
		"hard-to-guess-1", `{"auths":{"quay.io":{"auth":"dXNlcjpoYXJkLXRvLWd1ZXNz"}}}`, "aws_access_key_id = a\naws_secret_access_key = hard-to-guess",
		"users: [{name: a, user: {token: hard-to-guess}}]", "$1", "a b", "<redacted>", "x: &a [*a]", "-----BEGIN x-----\n",
	} {
		f.Add(value, "before ", " after")
		f.Add(value, "password: \"", "\"")
		f.Add(value, value, value)
	}
	f.Fuzz(func(t *testing.T, value, before, after string) {
		r := New()
		r.Add([]byte(value))
		text := r.String(before + value + after)
		for _, secret := range secretsIn([]byte(value)) {
			if len(secret) >= minKnown && !strings.Contains(Mark, secret) && strings.Contains(text, secret) && !strings.Contains(before+Mark+after, secret) {
				t.Errorf("%q is in %q", secret, text)
			}
		}
	})
}
