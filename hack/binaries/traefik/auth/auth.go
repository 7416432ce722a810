// Package auth replaces Traefik's fork of go-http-auth, which the module proxy does not serve. Traefik compiles all its middlewares, and the
// test environments use none that asks for passwords: this package has the types, and accepts no password.
package auth

import "net/http"

// SecretProvider returns the secret of a user.
type SecretProvider func(user, realm string) string

type (
	BasicAuth struct {
		Realm   string
		Secrets SecretProvider
	}
	DigestAuth struct{}
)

// CheckSecret accepts no password.
func CheckSecret(password, secret string) bool { return false }

// NewDigestAuthenticator returns an authenticator that accepts no request.
func NewDigestAuthenticator(realm string, secrets SecretProvider) *DigestAuth { return &DigestAuth{} }

// DigestAuthParams returns no parameters.
func DigestAuthParams(authorization string) map[string]string { return nil }

// CheckAuth accepts no request.
func (*DigestAuth) CheckAuth(*http.Request) (user string, info *string) { return "", nil }

// RequireAuth refuses the request.
func (*BasicAuth) RequireAuth(w http.ResponseWriter, _ *http.Request) { refuse(w) }

// RequireAuth refuses the request.
func (*DigestAuth) RequireAuth(w http.ResponseWriter, _ *http.Request) { refuse(w) }

// RequireAuthStale refuses the request.
func (*DigestAuth) RequireAuthStale(w http.ResponseWriter, _ *http.Request) { refuse(w) }

func refuse(w http.ResponseWriter) {
	http.Error(w, "this build of Traefik accepts no password", http.StatusUnauthorized)
}
