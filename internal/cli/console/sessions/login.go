package sessions

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// login keeps the token of the form in a cookie. A token that is not valid leads back to the form.
func (s *Sessions) login(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		loginPage(w, http.StatusOK, "")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	token, namespace := strings.TrimSpace(r.PostFormValue("token")), strings.TrimSpace(r.PostFormValue("namespace"))
	switch {
	case token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == ';' || r == ',' || r == '\\' }):
		loginPage(w, http.StatusBadRequest, "this is no token")
		return
	case namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0:
		loginPage(w, http.StatusBadRequest, "this is no name of a namespace")
		return
	}
	keep(w, tokenCookie, token)
	keep(w, namespaceCookie, namespace)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (s *Sessions) logout(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "logout is a form", http.StatusMethodNotAllowed)
		return
	}
	s.end(credentials(r))
	forget(w)
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// keep sets a cookie that scripts and other sites cannot use. Its prefix makes browsers refuse it without TLS, and for other paths and hosts.
func keep(w http.ResponseWriter, name, value string) {
	c := &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteStrictMode}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

func forget(w http.ResponseWriter) { keep(w, tokenCookie, "") }

// loginPage asks for a token. problem is what is wrong with the present one.
func loginPage(w http.ResponseWriter, status int, problem string) {
	page := g.Group{g.Raw("<!doctype html>"), h.HTML(h.Lang("en"),
		h.Head(h.Meta(h.Charset("utf-8")), h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")), h.Meta(h.Name("color-scheme"), h.Content("light dark")), h.Link(h.Rel("stylesheet"), h.Href("/assets/console.css")), h.TitleEl(g.Text("Log in · hypershift"))),
		h.Body(h.Main(
			h.H1(g.Text("hypershift console")),
			g.If(problem != "", h.P(h.Role("alert"), g.Text(problem))),
			h.P(g.Text("The console reads the management cluster with your own rights. Paste a token of it, for example of a service account: "),
				h.Code(g.Text("kubectl create token NAME --namespace NAMESPACE --duration 1h"))),
			h.Form(h.Method("post"), h.Action("/login"),
				h.P(h.Label(h.For("token"), g.Text("Token ")), h.Input(h.ID("token"), h.Name("token"), h.Type("password"), h.Required(), h.AutoComplete("off"))),
				h.P(h.Label(h.For("namespace"), g.Text("Only this namespace (if you may not list all) ")), h.Input(h.ID("namespace"), h.Name("namespace"), h.Type("text"), h.AutoComplete("off"))),
				h.Button(h.Type("submit"), g.Text("Log in"))),
		)))}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = page.Render(w) // the browser may have gone
}
