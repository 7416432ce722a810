package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/hosted-control-planes/hypershift/internal/cli/console/clusterpath"
	"github.com/hosted-control-planes/hypershift/internal/oneline"
	"github.com/hosted-control-planes/hypershift/internal/version"
)

// documentation is the directory of the documentation's pages.
const documentation = "https://github.com/hosted-control-planes/hypershift/blob/main/docs/"

func oneLine(text string) string { return oneline.Of(text) }

// layout is a whole page.
func (s *Server) layout(r *http.Request, c content) g.Node {
	now := currencyOf(s.model)
	unreadable := s.model.Health().Unreadable
	return g.Group{g.Raw("<!doctype html>"), h.HTML(h.Lang("en"),
		h.Head(
			h.Meta(h.Charset("utf-8")),
			h.Meta(h.Name("viewport"), h.Content("width=device-width, initial-scale=1")),
			h.Meta(h.Name("color-scheme"), h.Content("light dark")),
			h.TitleEl(g.Text(c.title+" · hypershift")),
			h.Link(h.Rel("icon"), h.Href("/assets/icon.svg")),
			h.Link(h.Rel("stylesheet"), h.Href("/assets/console.css")),
			h.Script(h.Src("/assets/idiomorph.min.js"), h.Defer()),
			h.Script(h.Src("/assets/console.js"), h.Defer()),
		),
		h.Body(h.Data("page", pageURL(r)),
			h.A(h.Class("skip"), h.Href("#content"), g.Text("Skip to content")),
			h.Header(
				h.Nav(h.Aria("label", "Console"),
					h.A(h.Class("home"), h.Href("/"), g.Text("hypershift")),
					h.Span(h.Class("where"), h.Title("management cluster"), g.Text(s.Title)),
					h.A(h.Href("/"), current(r, "/"), g.Text("Clusters")),
					h.A(h.Href("/doctor"), current(r, "/doctor"), g.Text("Doctor")),
					g.If(s.Leftovers != nil, h.A(h.Href("/leftovers"), current(r, "/leftovers"), g.Text("Leftovers"))),
				),
				h.Div(h.ID("currency"), h.Role("status"),
					h.Span(h.Class("lamp"), g.Attr("aria-hidden", "true")),
					h.Span(g.Text("as of "), instant(now.AsOf)),
				),
			),
			g.If(s.Logout, h.Form(h.Class("logout"), h.Method("post"), h.Action("/logout"), h.Button(h.Type("submit"), g.Text("Log out")))),
			h.Div(h.ID("problem"), h.Role("alert"), g.If(now.Problem == "", g.Attr("hidden")), g.Text(now.Problem)),
			breadcrumbs(c.crumbs),
			h.Main(h.ID("content"), h.TabIndex("-1"), c.main),
			h.Footer(
				g.If(s.model.Health().Namespace != "", h.P(g.Text("Only namespace "+s.model.Health().Namespace+": your rights do not include other namespaces."))),
				g.If(len(unreadable) > 0, h.P(g.Text("Not readable with your rights: "+strings.Join(sortedKeys(unreadable), ", ")+"."))),
				h.P(g.Text("hypershift "+version.Get().Version+" · "), h.A(h.Href(documentation+"console.md"), g.Text("documentation"))),
			),
		),
	)}
}

func sortedKeys(m map[string]error) []string {
	keys := []string{}
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// pageURL is the address of a page without its host, which a live page sends to /live.
func pageURL(r *http.Request) string {
	u := url.URL{Path: r.URL.Path, RawQuery: r.URL.Query().Encode()}
	return u.String()
}

func current(r *http.Request, path string) g.Node {
	if path == r.URL.Path || path != "/" && strings.HasPrefix(r.URL.Path, path+"/") {
		return h.Aria("current", "page")
	}
	return nil
}

func breadcrumbs(crumbs []link) g.Node {
	if len(crumbs) == 0 {
		return nil
	}
	return h.Nav(h.Class("crumbs"), h.Aria("label", "Breadcrumbs"), g.Map(crumbs, func(l link) g.Node {
		return h.A(h.Href(l.href), g.Text(l.text))
	}))
}

// instant is a point in time. The script shows its age.
func instant(t time.Time) g.Node {
	if t.IsZero() {
		return g.Text("–")
	}
	text := t.UTC().Format("2006-01-02 15:04:05 MST")
	return h.Time(h.DateTime(t.UTC().Format(time.RFC3339)), h.Title(text), g.Text(text))
}

// words are the names of states for people; marks are signs that do not depend on colours.
var (
	words = map[clusterpath.State]string{
		clusterpath.OK: "OK", clusterpath.Waiting: "waiting", clusterpath.Broken: "broken", clusterpath.Unknown: "unknown", clusterpath.Absent: "none",
	}
	marks = map[clusterpath.State]string{
		clusterpath.OK: "✓", clusterpath.Waiting: "…", clusterpath.Broken: "✕", clusterpath.Unknown: "?", clusterpath.Absent: "–",
	}
)

// mark is the sign of a state with its name for screen readers.
func mark(s clusterpath.State) g.Node {
	return h.Span(h.Class("mark "+string(s)), h.Span(g.Attr("aria-hidden", "true"), g.Text(marks[s])), h.Span(h.Class("sr"), g.Text(words[s])))
}

// command is a command line with a button that copies it.
func command(label string, args ...string) g.Node {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quote(a)
	}
	return commandText(label, strings.Join(quoted, " "))
}

func commandText(label, text string) g.Node {
	return h.Div(h.Class("command"),
		h.Span(h.Class("label"), g.Text(label)),
		h.Code(g.Text(text)),
		h.Button(h.Type("button"), h.Class("copy"), h.Data("copy", text), h.Aria("label", "Copy: "+label), g.Attr("hidden"), g.Text("Copy")),
	)
}

// scroll is a region that a wide table scrolls in.
func scroll(label string, content ...g.Node) g.Node {
	return h.Div(h.Class("scroll"), h.TabIndex("0"), h.Role("region"), h.Aria("label", label), g.Group(content))
}

// quote protects an argument from the shell.
func quote(arg string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !safe(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

func dollars(perDay float64, atLeast bool) string {
	text := fmt.Sprintf("$%.2f", perDay)
	if atLeast {
		text = "≥ " + text
	}
	return text
}

// docsLink is a link to the documentation. rest is a part of its name for screen readers only.
func docsLink(page, text, rest string) g.Node {
	return h.A(h.Class("docs"), h.Href(documentation+page), h.Rel("noreferrer"), g.Text(text), g.If(rest != "", h.Span(h.Class("sr"), g.Text(rest))))
}

// clusterHref is the path of a page of a cluster.
func clusterHref(namespace, name, page string) string {
	path := "/clusters/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
	if page != "" {
		path += "/" + page
	}
	return path
}
