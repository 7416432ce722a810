package web

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/types"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/hosted-control-planes/hypershift/internal/cli/console/clusterpath"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/fleet"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
)

func keyOf(r *http.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
}

// ofCluster makes a page of a cluster, or reports that the cluster does not exist.
func (s *Server) ofCluster(ctx context.Context, r *http.Request, title string, main func(*watch.Cluster) g.Node) content {
	key := keyOf(r)
	page := content{title: key.Name + title, crumbs: []link{{"Clusters", "/"}, {key.String(), clusterHref(key.Namespace, key.Name, "")}}}
	c, err := s.model.Detailed(ctx, key)
	switch {
	case err != nil:
		page.status, page.main = http.StatusInternalServerError, h.P(h.Class("empty"), g.Text(err.Error()))
	case c == nil:
		page.status = http.StatusNotFound
		page.main = g.Group{h.H1(g.Text(key.Name)), h.P(h.Class("empty"), g.Text("There is no HostedCluster "+key.Name+" in namespace "+key.Namespace+". It may have been deleted."))}
	default:
		page.main = g.Group{s.clusterHead(c, r), main(c)}
	}
	return page
}

// clusterHead is the top of every page of a cluster.
func (s *Server) clusterHead(c *watch.Cluster, r *http.Request) g.Node {
	hc, row := c.HostedCluster, s.model.rowOf(c)
	tab := func(text, page string) g.Node {
		href := clusterHref(hc.Namespace, hc.Name, page)
		return h.A(h.Href(href), g.If(r.URL.EscapedPath() == href, h.Aria("current", "page")), g.Text(text))
	}
	versionText := row.Version
	if row.Target != "" {
		versionText += " → " + row.Target
	}
	return h.Div(h.Class("head"),
		h.H1(h.Span(h.Class("ns"), g.Text(hc.Namespace+"/")), g.Text(hc.Name)),
		h.P(h.ID("state"), h.Data("state", string(row.State)), h.Class("lead"),
			mark(stateOf(row.State)), h.Strong(g.Text(" "+string(row.State))), g.Text(" · "), instant(row.Since),
			g.If(versionText != "", g.Text(" · Kubernetes "+versionText)),
			g.If(row.Access != "", g.Text(" · "+row.Access)),
			g.Text(" · "+row.NodesText()+nodesWord(row)+" · "+dollars(row.DollarsPerDay, row.AtLeast)+" a day"),
		),
		g.If(row.Waiting != "", h.P(h.Class("waiting"), g.Text(row.Waiting))),
		h.Nav(h.Class("tabs"), h.Aria("label", "Cluster"), tab("Path", ""), tab("Timeline", "timeline"), tab("Cost", "cost"), tab("Doctor", "doctor")),
	)
}

func nodesWord(r fleet.Row) string {
	if r.NodesText() == "1" {
		return " node"
	}
	return " nodes"
}

func (s *Server) clusterPage(ctx context.Context, r *http.Request) content {
	return s.ofCluster(ctx, r, "", func(c *watch.Cluster) g.Node {
		path := clusterpath.Of(c.Objects)
		return g.Group{
			drawing(path),
			g.If(len(path.Others) > 0, h.Section(h.Class("others"), h.H2(g.Text("Not on the path")), h.Ul(h.Class("segments"), g.Map(path.Others, func(seg clusterpath.Segment) g.Node {
				return segmentNode(seg, "")
			})))),
			s.commands(c),
		}
	})
}

// drawing shows the places from left to right, each with its segments, as an ordered list from etcd to the nodes. On a narrow screen it
// goes from top to bottom. The line ends at the first segment that requests do not pass.
func drawing(path clusterpath.Path) g.Node {
	cut, behind := path.Cut(), false
	places := g.Group{}
	for _, place := range path.Places {
		items := g.Group{}
		for _, seg := range place.Segments {
			class := ""
			switch {
			case seg.ID == cut:
				class, behind = " cut", true
			case behind:
				class = " behind"
			}
			items = append(items, segmentNode(seg, class))
		}
		places = append(places, h.Li(h.Class("place "+place.ID), h.H2(g.Text(place.Title)), h.Ol(h.Class("segments"), items)))
	}
	return h.Ol(h.ID("drawing"), h.Class("drawing"), h.Aria("label", "Path from etcd to the nodes"), places)
}

func segmentNode(seg clusterpath.Segment, class string) g.Node {
	return h.Li(h.ID("segment-"+seg.ID), h.Class("segment "+string(seg.State)+class), h.Data("state", string(seg.State)),
		h.H3(mark(seg.State), g.Text(" "+seg.Title)),
		g.If(seg.Detail != "", h.P(h.Class("detail"), g.Text(seg.Detail))),
		g.If(!seg.Since.IsZero(), h.P(h.Class("since"), g.Text(words[seg.State]+" "), instant(seg.Since))),
		g.If(seg.State != clusterpath.OK && seg.Message != "", h.P(h.Class("message"), g.If(seg.Reason != "", h.Strong(g.Text(seg.Reason+": "))), g.Text(seg.Message))),
		partsNode(seg),
		h.P(h.Class("links"), docsLink(seg.Docs, "docs", " about "+seg.Title), g.If(seg.Condition != "" && seg.State != clusterpath.OK, g.Group{g.Text(" "), docsLink("conditions.md", seg.Condition, "")})),
	)
}

// manyParts is how many parts a segment shows without a click.
const manyParts = 6

func partsNode(seg clusterpath.Segment) g.Node {
	if len(seg.Parts) == 0 {
		return nil
	}
	list := h.Ul(h.Class("parts"), g.Map(seg.Parts, func(p clusterpath.Part) g.Node {
		return h.Li(h.Data("state", string(p.State)), mark(p.State), h.Span(h.Class("part"), g.Text(" "+p.Name)),
			g.If(p.Detail != "", h.Span(h.Class("detail"), g.Text(" "+p.Detail))),
			g.If(p.State != clusterpath.OK && p.Message != "", h.Span(h.Class("message"), g.Text(" "+p.Message))))
	}))
	if len(seg.Parts) <= manyParts {
		return list
	}
	counts := map[clusterpath.State]int{}
	for _, p := range seg.Parts {
		counts[p.State]++
	}
	summary := g.Group{}
	for _, state := range []clusterpath.State{clusterpath.Broken, clusterpath.Waiting, clusterpath.Unknown, clusterpath.OK, clusterpath.Absent} {
		if counts[state] > 0 {
			summary = append(summary, mark(state), g.Text(fmt.Sprintf(" %d ", counts[state])))
		}
	}
	return h.Details(h.ID("parts-"+seg.ID), h.Summary(summary), list)
}

// commands are what a user does next, to be copied.
func (s *Server) commands(c *watch.Cluster) g.Node {
	hc := c.HostedCluster
	region := ""
	if hc.Spec.Platform.AWS != nil {
		region = hc.Spec.Platform.AWS.Region
	}
	ns, name := hc.Namespace, hc.Name
	return h.Section(h.Class("commands"), h.H2(g.Text("Commands")),
		command("Objects and conditions", "hypershift", "describe", "cluster", name, "--namespace", ns),
		command("Checks, with your AWS credentials", "hypershift", "doctor", name, "--namespace", ns),
		commandText("Access as its administrator", "hypershift create kubeconfig "+quote(name)+" --namespace "+quote(ns)+" --port-forward --output-file "+quote(name+".kubeconfig")),
		command("Data for support", "hypershift", "dump", "cluster", name, "--namespace", ns, "--artifact-dir", name+"-dump"),
		command("Pause", "kubectl", "--namespace", ns, "patch", "hostedcluster", name, "--type", "merge", "--patch", `{"spec":{"pausedUntil":"true"}}`),
		command("Resume", "kubectl", "--namespace", ns, "patch", "hostedcluster", name, "--type", "merge", "--patch", `{"spec":{"pausedUntil":null}}`),
		command("Upgrade: first as a dry run", "kubectl", "--namespace", ns, "patch", "hostedcluster", name, "--dry-run=server", "--type", "merge", "--patch", `{"spec":{"release":{"image":"RELEASE_IMAGE"}}}`),
		g.If(region != "", command("What is tagged with its infra ID in AWS", "hypershift", "leftovers", "aws", "--infra-id", hc.Spec.InfraID, "--name", name, "--region", region)),
		s.changeForms(c),
	)
}
