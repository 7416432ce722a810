package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/hosted-control-planes/hypershift/internal/cli/console/clusterpath"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/fleet"
)

// columns are the columns of the list, with the order that their header selects.
var columns = []struct{ title, sort string }{
	{"Cluster", "name"}, {"State", "state"}, {"Since", "since"}, {"Version", "version"}, {"Access", ""}, {"Waits for", ""},
	{"Nodes", "nodes"}, {"Load balancers", ""}, {"Endpoints", ""}, {"$ per day", "cost"}, {"Certificates", "expiry"}, {"Backup", "backup"},
}

func queryOf(r *http.Request) fleet.Query {
	q := r.URL.Query()
	return fleet.Query{Text: q.Get("q"), State: fleet.State(q.Get("state")), Sort: q.Get("sort")}
}

// fleetHref is the list with another state or order.
func fleetHref(q fleet.Query) string {
	values := url.Values{}
	for name, value := range map[string]string{"q": q.Text, "state": string(q.State), "sort": q.Sort} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return "/"
	}
	return "/?" + values.Encode()
}

func (s *Server) fleetPage(_ context.Context, r *http.Request) content {
	all := s.model.Rows()
	query := queryOf(r)
	rows := query.Select(all)
	return content{title: "Clusters", main: g.Group{
		h.H1(g.Text("Hosted clusters")),
		s.summary(all, r),
		h.Form(h.ID("filter"), h.Method("get"), h.Action("/"), h.Role("search"),
			h.Label(h.For("q"), g.Text("Search")),
			h.Input(h.ID("q"), h.Type("search"), h.Name("q"), h.Value(query.Text), h.Placeholder("name, version, access or wait"), h.AutoComplete("off")),
			g.If(query.State != "", h.Input(h.Type("hidden"), h.Name("state"), h.Value(string(query.State)))),
			g.If(query.Sort != "", h.Input(h.Type("hidden"), h.Name("sort"), h.Value(query.Sort))),
			h.Button(h.Type("submit"), g.Text("Search")),
		),
		scroll("Hosted clusters", h.Table(h.Class("fleet"), h.THead(h.Tr(header(query))), rowsNode(rows))),
	}}
}

func header(query fleet.Query) g.Node {
	nodes := g.Group{}
	for _, c := range columns {
		if c.sort == "" {
			nodes = append(nodes, h.Th(h.Scope("col"), g.Text(c.title)))
			continue
		}
		sorted := query
		sorted.Sort = c.sort
		isCurrent := query.Sort == c.sort || query.Sort == "" && c.sort == "name"
		nodes = append(nodes, h.Th(h.Scope("col"), g.If(isCurrent, h.Aria("sort", "other")), h.A(h.Href(fleetHref(sorted)), g.Text(c.title))))
	}
	return nodes
}

// summary has the number of clusters of each state, as links that select them.
func (s *Server) summary(all []fleet.Row, r *http.Request) g.Node {
	query := queryOf(r)
	counts := fleet.Count(all)
	total := 0.0
	for _, row := range all {
		total += row.DollarsPerDay
	}
	items := g.Group{chip(query, "", fmt.Sprintf("all %d", len(all)))}
	for _, state := range fleet.States {
		if counts[state] > 0 || query.State == state {
			items = append(items, chip(query, state, fmt.Sprintf("%s %d", state, counts[state])))
		}
	}
	return h.Div(h.ID("summary"), h.Nav(h.Class("chips"), h.Aria("label", "States"), items), h.Span(h.Class("total"), g.Textf("about $%.2f a day at list prices", total)))
}

func chip(query fleet.Query, state fleet.State, text string) g.Node {
	target := query
	target.State = state
	return h.A(h.Class("chip "+stateClass(state)), h.Href(fleetHref(target)), g.If(query.State == state, h.Aria("current", "true")), g.Text(text))
}

func stateClass(s fleet.State) string { return "state-" + strings.ReplaceAll(string(s), " ", "-") }

// stateOf is the state of the path that has the same colour as the state of a cluster.
func stateOf(s fleet.State) clusterpath.State {
	switch s {
	case fleet.Ready:
		return clusterpath.OK
	case fleet.Stalled, fleet.NotReady:
		return clusterpath.Broken
	case fleet.Paused, fleet.Asleep:
		return clusterpath.Absent
	}
	return clusterpath.Waiting
}

func rowsNode(rows []fleet.Row) g.Node {
	if len(rows) == 0 {
		return h.TBody(h.ID("rows"), h.Tr(h.Td(h.ColSpan(fmt.Sprint(len(columns))), g.Text("no hosted cluster matches"))))
	}
	return h.TBody(h.ID("rows"), g.Map(rows, rowNode))
}

func rowNode(r fleet.Row) g.Node {
	text := r.Version
	if r.Target != "" {
		text = strings.TrimPrefix(r.Version+" → "+r.Target, " ")
	}
	backup := g.Group{instant(r.LastBackup)}
	if r.BackupFailed {
		backup = g.Group{mark(clusterpath.Broken), g.Text(" failed")}
	}
	wait := r.Waiting
	if r.Cut != "" && wait != "" && r.State != fleet.Ready {
		wait = r.Cut + ": " + wait
	}
	return h.Tr(h.ID(rowID(r)), h.Data("state", string(r.State)),
		h.Th(h.Scope("row"), h.A(h.Href(clusterHref(r.Namespace, r.Name, "")), h.Span(h.Class("ns"), g.Text(r.Namespace+"/")), g.Text(r.Name))),
		h.Td(mark(stateOf(r.State)), g.Text(" "+string(r.State))),
		h.Td(instant(r.Since)),
		h.Td(g.Text(text)),
		h.Td(g.Text(r.Access)),
		h.Td(h.Class("wait"), h.Title(oneLine(wait)), g.Text(oneLine(wait))),
		h.Td(h.Class("number"), g.Text(r.NodesText())),
		h.Td(h.Class("number"), g.Text(fmt.Sprint(r.LoadBalancers))),
		h.Td(h.Class("number"), g.Text(fmt.Sprint(r.Endpoints))),
		h.Td(h.Class("number"), g.Text(dollars(r.DollarsPerDay, r.AtLeast))),
		h.Td(instant(r.CertificatesExpire)),
		h.Td(backup),
	)
}
