package web

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// contentSecurityPolicy permits nothing but the files and the events of this server.
// https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Content-Security-Policy
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Protect adds the headers of every response, and refuses changes that a page of another site makes the browser send.
func Protect(next http.Handler) http.Handler {
	return withHeaders(http.NewCrossOriginProtection().Handler(next))
}

// withHeaders adds the headers of every response.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// withHosts refuses requests for other host names. A page of another site can make its own name lead to 127.0.0.1 (DNS rebinding), and would
// then be of the same origin as the console.
func withHosts(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(hosts, strings.ToLower(r.Host)) {
			http.Error(w, "this name is not an address of the console: open the address that `hypershift console` printed", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// loopbackHosts are the names of a listener on this machine.
func loopbackHosts(address net.Addr) []string {
	_, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return nil
	}
	return []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port}
}

// newToken returns a random token.
func newToken() string { return rand.Text() }

// withToken accepts requests that know the token: the address that the command prints has it as a parameter, and a cookie has it afterwards, so
// that it is in no address that is copied. Other users of the machine can connect, and do not know it.
func withToken(token, cookie string, next http.Handler) http.Handler {
	equal := func(a string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(token)) == 1 }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Has("token") {
			if !equal(query.Get("token")) {
				refuse(w)
				return
			}
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // the listener is on this machine, and has no TLS
			query.Del("token")
			// A path that begins with two slashes would be another host.
			target := url.URL{Path: "/" + strings.TrimLeft(r.URL.Path, "/"), RawQuery: query.Encode()}
			http.Redirect(w, r, target.String(), http.StatusSeeOther)
			return
		}
		if c, err := r.Cookie(cookie); err != nil || !equal(c.Value) {
			refuse(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func refuse(w http.ResponseWriter) {
	http.Error(w, "open the address that `hypershift console` printed: it has the token of this console", http.StatusForbidden)
}
