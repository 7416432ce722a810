package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/listprices"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/clusterpath"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/cost"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
	"github.com/hosted-control-planes/hypershift/internal/cli/prerequisites"
)

func heads(titles ...string) g.Node {
	return h.THead(h.Tr(g.Map(titles, func(title string) g.Node { return h.Th(h.Scope("col"), g.Text(title)) })))
}

func (s *Server) costPage(ctx context.Context, r *http.Request) content {
	return s.ofCluster(ctx, r, " cost", func(c *watch.Cluster) g.Node {
		estimate := s.model.prices.Of(c.Objects)
		largest := 0.01
		for _, l := range estimate.Lines {
			largest = max(largest, l.DollarsPerDay)
		}
		return g.Group{
			scroll("Cost", h.Table(h.Class("cost"), heads("Account", "Resource", "Number", "$ per day", "Share"),
				h.TBody(g.Map(estimate.Lines, func(l cost.Line) g.Node { return costRow(l, largest) })),
				h.TFoot(h.Tr(h.Th(h.Scope("row"), h.ColSpan("3"), g.Text("Sum")), h.Td(h.Class("number"), g.Text(dollars(estimate.DollarsPerDay, !estimate.Complete))), h.Td())),
			)),
			h.P(h.Class("note"), g.Text("An estimate from the objects of the management cluster, at "+s.model.prices.Basis()+". Not in it:")),
			h.Ul(h.Class("note"), h.Li(g.Text("the control plane's share of the management cluster's nodes")), g.Map(s.model.prices.Without(), func(text string) g.Node { return h.Li(g.Text(text)) })),
			h.P(docsLink("operations.md#what-one-cluster-costs", "What one cluster costs", "")),
		}
	})
}

func costRow(l cost.Line, largest float64) g.Node {
	const width = 160
	resource, price := l.Kind, "no price known"
	if l.Each != "" {
		resource += " " + l.Each
	}
	if l.Priced {
		price = fmt.Sprintf("%.2f", l.DollarsPerDay)
	}
	return h.Tr(h.Td(g.Text(l.Account)), h.Td(g.Text(resource)), h.Td(h.Class("number"), g.Text(fmt.Sprint(l.Count))), h.Td(h.Class("number"), g.Text(price)),
		h.Td(g.El("svg", h.Class("bar"), g.Attr("viewBox", fmt.Sprintf("0 0 %d 10", width)), h.Aria("hidden", "true"),
			g.El("rect", g.Attr("width", number(width*l.DollarsPerDay/largest)), g.Attr("height", "10")))))
}

// statuses are the states of the path with the same colours.
var statuses = map[prerequisites.Status]clusterpath.State{
	prerequisites.Passed: clusterpath.OK, prerequisites.Failed: clusterpath.Broken, prerequisites.Warning: clusterpath.Waiting, prerequisites.Unknown: clusterpath.Unknown,
}

// doctorPage runs the checks. They are slow, and not repeated within memoAge.
func (s *Server) doctorPage(ctx context.Context, r *http.Request) content {
	key := keyOf(r)
	run := func() g.Node {
		value, at, err := s.checks.do(ctx, s.Clock, key.String(), func(ctx context.Context) (any, error) { return s.Doctor(ctx, key) })
		if err != nil {
			return h.P(h.Class("message"), g.Text(err.Error()))
		}
		results := value.([]prerequisites.Result)
		slices.SortStableFunc(results, func(a, b prerequisites.Result) int { return severity(a.Status) - severity(b.Status) })
		return g.Group{h.P(h.Class("note"), g.Text("Checked at "), instant(at), g.Text(". Load the page again for new results.")), resultsTable(results)}
	}
	if key.Name != "" {
		return s.ofCluster(ctx, r, " doctor", func(*watch.Cluster) g.Node { return run() })
	}
	return content{title: "Doctor", main: g.Group{h.H1(g.Text("Checks of the installation")), run()}}
}

func severity(status prerequisites.Status) int {
	return slices.Index([]prerequisites.Status{prerequisites.Failed, prerequisites.Warning, prerequisites.Unknown, prerequisites.Passed}, status)
}

func resultsTable(results []prerequisites.Result) g.Node {
	return scroll("Checks", h.Table(h.Class("results"), heads("Result", "Check", "Finding", "What to do"), h.TBody(g.Map(results, func(r prerequisites.Result) g.Node {
		return h.Tr(h.Data("state", string(r.Status)), h.Td(mark(statuses[r.Status]), g.Text(" "+string(r.Status))), h.Th(h.Scope("row"), g.Text(r.Check)), h.Td(g.Text(r.Message)), h.Td(g.Text(r.Action)))
	}))))
}

// leftoversPage lists resources in AWS by their tags.
func (s *Server) leftoversPage(ctx context.Context, r *http.Request) content {
	page := content{title: "Leftovers"}
	if s.Leftovers == nil {
		page.status, page.main = http.StatusNotFound, h.P(h.Class("empty"), g.Text("The console was started without AWS credentials: pass --aws."))
		return page
	}
	infraID := r.PathValue("infraID")
	value, at, err := s.finds.do(ctx, s.Clock, infraID, func(ctx context.Context) (any, error) { return s.Leftovers(ctx, infraID) })
	if err != nil {
		page.status, page.main = http.StatusBadGateway, g.Group{h.H1(g.Text("Leftovers")), h.P(h.Class("message"), g.Text(err.Error()))}
		return page
	}
	account := value.(Account)
	hosted := s.hostedClusters(ctx)
	// A cluster of another namespace must not appear as left behind.
	all := s.model.Health().Namespace == ""
	page.main = g.Group{h.H1(g.Text("Tagged resources in AWS")), h.P(h.Class("note"), g.Text("Account "+account.ID+", region "+account.Region+", read at "), instant(at)), infraIDs(account, hosted, all)}
	if infraID != "" {
		page.crumbs = []link{{"Leftovers", "/leftovers"}}
		page.main = g.Group{h.H1(g.Text("Resources of " + infraID)), h.P(h.Class("note"), g.Text("Account "+account.ID+", region "+account.Region+", read at "), instant(at)), resourcesOf(account, infraID, hosted[infraID], all)}
	}
	return page
}

// hostedClusters returns the HostedClusters by their infra ID.
func (s *Server) hostedClusters(ctx context.Context) map[string]types.NamespacedName {
	owners := map[string]types.NamespacedName{}
	for _, row := range s.model.Rows() {
		key := types.NamespacedName{Namespace: row.Namespace, Name: row.Name}
		if c, err := s.model.Cluster(ctx, key); err == nil && c != nil {
			owners[c.HostedCluster.Spec.InfraID] = key
		}
	}
	return owners
}

func infraIDs(account Account, hosted map[string]types.NamespacedName, all bool) g.Node {
	if len(account.Clusters) == 0 {
		return h.P(h.Class("empty"), g.Text("No resource has the tag of a cluster."))
	}
	return scroll("Infra IDs", h.Table(heads("Infra ID", "Resources", "HostedCluster"), h.TBody(g.Map(slices.Sorted(maps.Keys(account.Clusters)), func(infraID string) g.Node {
		owner := g.Node(g.Group{mark(clusterpath.Broken), g.Text(" none in this management cluster")})
		if !all {
			owner = g.Group{mark(clusterpath.Unknown), g.Text(" not in the only namespace that is shown")}
		}
		if key, exists := hosted[infraID]; exists {
			owner = h.A(h.Href(clusterHref(key.Namespace, key.Name, "")), g.Text(key.String()))
		}
		return h.Tr(h.Th(h.Scope("row"), h.A(h.Href("/leftovers/"+url.PathEscape(infraID)), g.Text(infraID))), h.Td(h.Class("number"), g.Text(fmt.Sprint(account.Clusters[infraID]))), h.Td(owner))
	}))))
}

func resourcesOf(account Account, infraID string, owner types.NamespacedName, all bool) g.Node {
	if len(account.Resources) == 0 {
		return h.P(h.Class("empty"), g.Text("Nothing has the tag of this infra ID."))
	}
	counts := map[string]int{}
	rows := g.Group{}
	for _, one := range account.Resources {
		counts[one.Kind]++
		rows = append(rows, h.Tr(h.Td(g.Text(one.Kind)), h.Th(h.Scope("row"), g.Text(one.ID)), h.Td(g.Text(one.Name)), h.Td(g.Text(string(one.Cost))), h.Td(g.Text(one.Kept))))
	}
	action := h.P(g.Text("They belong to HostedCluster "), h.A(h.Href(clusterHref(owner.Namespace, owner.Name, "")), g.Text(owner.String())), g.Text("."))
	switch {
	case owner.Name == "" && !all:
		action = h.P(g.Text("Their HostedCluster may be in another namespace: only one is shown."))
	case owner.Name == "":
		action = command("Delete them, after a question", "hypershift", "leftovers", "aws", "--infra-id", infraID, "--region", account.Region, "--delete")
	}
	estimate, err := listprices.EstimateOf(counts)
	return g.Group{
		action,
		g.Iff(err == nil && estimate != nil, func() g.Node { return h.P(g.Text("They cost " + estimate.String() + ".")) }),
		scroll("Resources", h.Table(heads("Kind", "ID", "Name", "Cost", "Note"), h.TBody(rows))),
	}
}
