package web

import (
	"net/http"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
)

// changeForms are the changes that the console makes itself, if its user has permitted them.
func (s *Server) changeForms(c *watch.Cluster) g.Node {
	if s.Change == nil {
		return nil
	}
	hc := c.HostedCluster
	form := func(fields ...g.Node) g.Node {
		return h.Form(h.Class("change"), h.Method("post"), h.Action(clusterHref(hc.Namespace, hc.Name, "change")), g.Group(fields))
	}
	pause := form(h.Button(h.Type("submit"), h.Name("do"), h.Value("pause"), g.Text("Pause")))
	if hc.Spec.PausedUntil != nil {
		pause = form(h.Button(h.Type("submit"), h.Name("do"), h.Value("resume"), g.Text("Resume")))
	}
	return h.Div(h.Class("changes"), h.H3(g.Text("Changes")), pause,
		form(h.Label(h.For("release"), g.Text("Release image")), h.Input(h.ID("release"), h.Name("release"), h.Type("text"), h.Required(), h.Value(hc.Spec.Release.Image), h.AutoComplete("off")),
			h.Button(h.Type("submit"), h.Name("do"), h.Value("upgrade"), g.Text("Upgrade"))),
	)
}

// change makes a change and returns to the page of the cluster. An error is a page of its own.
func (s *Server) change(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	var change Change
	switch r.FormValue("do") {
	case "pause":
		change.Pause = true
	case "resume":
		change.Resume = true
	case "upgrade":
		change.Release = r.FormValue("release")
	}
	if change == (Change{}) {
		http.Error(w, "the form has no change", http.StatusBadRequest)
		return
	}
	key := keyOf(r)
	if c, err := s.model.Cluster(r.Context(), key); err != nil || c == nil {
		http.Error(w, "there is no such cluster", http.StatusNotFound)
		return
	}
	if err := s.Change(r.Context(), key, change); err != nil {
		page := content{status: http.StatusUnprocessableEntity, title: key.Name, crumbs: []link{{"Clusters", "/"}, {key.String(), clusterHref(key.Namespace, key.Name, "")}},
			main: g.Group{h.H1(g.Text("Nothing was changed")), h.P(h.Class("message"), g.Text(err.Error()))}}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(page.status)
		_ = s.layout(r, page).Render(w) // the browser may have gone
		return
	}
	http.Redirect(w, r, clusterHref(key.Namespace, key.Name, ""), http.StatusSeeOther)
}
