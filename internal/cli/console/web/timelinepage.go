package web

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/timeline"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
)

// windows are the spans of time that the page can show.
var windows = []struct {
	name string
	span time.Duration
}{{"15m", 15 * time.Minute}, {"1h", time.Hour}, {"6h", 6 * time.Hour}, {"24h", 24 * time.Hour}, {"7d", 7 * 24 * time.Hour}}

const defaultWindow = time.Hour

// Sizes of the drawing, in its own units.
const (
	labelWidth  = 330
	bandsWidth  = 870
	laneHeight  = 22
	bandHeight  = 14
	axisHeight  = 26
	ticks       = 6
	dotRadius   = 5
	labelLength = 46
)

func (s *Server) timelinePage(ctx context.Context, r *http.Request) content {
	span, name := defaultWindow, r.URL.Query().Get("window")
	for _, w := range windows {
		if w.name == name {
			span = w.span
		}
	}
	all := r.URL.Query().Get("lanes") == "all"
	return s.ofCluster(ctx, r, " timeline", func(c *watch.Cluster) g.Node {
		end := s.Clock.Now().Truncate(time.Second)
		t := chart{start: end.Add(-span), end: end}
		lanes := s.model.Lanes(keyOf(r))
		shown := lanes
		if !all {
			shown = t.interesting(lanes)
		}
		windowLinks := g.Group{}
		for _, w := range windows {
			href := "?window=" + w.name
			if all {
				href += "&lanes=all"
			}
			windowLinks = append(windowLinks, h.A(h.Class("chip"), h.Href(href), g.If(w.span == span, h.Aria("current", "true")), g.Text(w.name)))
		}
		other, text := "?window="+cmp.Or(name, "1h")+"&lanes=all", fmt.Sprintf("all %d conditions", len(lanes))
		if all {
			other, text = "?window="+cmp.Or(name, "1h"), "only conditions with problems"
		}
		return g.Group{
			h.Nav(h.Class("chips"), h.Aria("label", "Window"), windowLinks, h.A(h.Class("chip"), h.Href(other), g.Text(text))),
			scroll("Timeline", t.draw(c, lanes, shown)),
			h.P(h.Class("note"), g.Text("Kubernetes keeps only the last transition of a condition. Earlier transitions are those that this console observed; before its first observation, a lane is empty.")),
			eventsTable(c, t),
		}
	})
}

// chart draws from start to end.
type chart struct{ start, end time.Time }

// x is the position of a time, from 0 to bandsWidth.
func (t chart) x(at time.Time) float64 {
	share := float64(at.Sub(t.start)) / float64(t.end.Sub(t.start))
	return bandsWidth * min(max(share, 0), 1)
}

// interesting returns the lanes that have a status in the window that is not normal.
func (t chart) interesting(lanes []timeline.Lane) []timeline.Lane {
	return slices.DeleteFunc(slices.Clone(lanes), func(l timeline.Lane) bool {
		for i, p := range l.Points {
			ends := t.end
			if i+1 < len(l.Points) {
				ends = l.Points[i+1].Time
			}
			if !p.Normal && ends.After(t.start) {
				return false
			}
		}
		return true
	})
}

// draw has a row for versions, access modes and events, and one for each lane that is shown.
func (t chart) draw(c *watch.Cluster, all, shown []timeline.Lane) g.Node {
	above := []struct {
		label string
		node  g.Node
	}{{"versions", t.upgrades(c)}, {"access", t.access(c, all)}, {"events", t.dots(c)}}
	height := axisHeight + laneHeight*(len(above)+len(shown))
	nodes := g.Group{t.axis(height)}
	for i, row := range above {
		nodes = append(nodes, t.row(i, row.label, row.node))
	}
	for i, l := range shown {
		label := l.Condition
		if l.Kind != "HostedCluster" {
			label = l.Kind + " " + l.Object + " " + label
		}
		nodes = append(nodes, t.row(len(above)+i, label, t.bands(l)))
	}
	title := fmt.Sprintf("Conditions of %s from %s to %s", c.HostedCluster.Name, t.start.UTC().Format("2006-01-02 15:04"), t.end.UTC().Format("15:04 MST"))
	return g.El("svg", h.ID("timeline"), h.Class("timeline"), g.Attr("viewBox", fmt.Sprintf("0 0 %d %d", labelWidth+bandsWidth, height)), h.Role("img"), h.Aria("label", title), nodes)
}

// row places a lane with its label.
func (t chart) row(i int, label string, node g.Node) g.Node {
	y := axisHeight + i*laneHeight
	short := label
	if runes := []rune(label); len(runes) > labelLength {
		short = "…" + string(runes[len(runes)-labelLength+1:])
	}
	return g.El("g", g.Attr("transform", fmt.Sprintf("translate(0 %d)", y)),
		g.El("text", g.Attr("x", fmt.Sprint(labelWidth-8)), g.Attr("y", fmt.Sprint(bandHeight)), h.Class("lane"), g.El("title", g.Text(label)), g.Text(short)),
		g.El("g", g.Attr("transform", fmt.Sprintf("translate(%d 0)", labelWidth)), node))
}

func (t chart) axis(height int) g.Node {
	nodes := g.Group{}
	span := t.end.Sub(t.start)
	format := "15:04"
	if span > 24*time.Hour {
		format = "Jan 2 15:04"
	}
	for i := range ticks + 1 {
		at := t.start.Add(span * time.Duration(i) / ticks)
		x := labelWidth + t.x(at)
		anchor := "middle"
		if i == ticks {
			anchor = "end"
		}
		nodes = append(nodes,
			g.El("line", h.Class("tick"), g.Attr("x1", number(x)), g.Attr("x2", number(x)), g.Attr("y1", "18"), g.Attr("y2", fmt.Sprint(height))),
			g.El("text", h.Class("tick"), g.Attr("x", number(x)), g.Attr("y", "12"), g.Attr("text-anchor", anchor), g.Text(at.UTC().Format(format))))
	}
	return nodes
}

func number(x float64) string { return fmt.Sprintf("%.1f", x) }

func (t chart) band(from, to time.Time, class, title string) g.Node {
	if !to.After(t.start) || !from.Before(t.end) {
		return nil
	}
	x := t.x(from)
	return g.El("rect", h.Class("band "+class), g.Attr("x", number(x)), g.Attr("y", "2"), g.Attr("width", number(max(t.x(to)-x, 1.5))), g.Attr("height", fmt.Sprint(bandHeight)), g.El("title", g.Text(title)))
}

// bands are the statuses of a condition.
func (t chart) bands(l timeline.Lane) g.Node {
	nodes := g.Group{}
	for i, p := range l.Points {
		to := t.end
		if i+1 < len(l.Points) {
			to = l.Points[i+1].Time
		}
		class := "broken"
		switch {
		case p.Normal:
			class = "ok"
		case p.Status == metav1.ConditionUnknown:
			class = "unknown"
		}
		title := fmt.Sprintf("%s %s since %s", l.Condition, p.Status, p.Time.UTC().Format("15:04:05"))
		if p.Reason != "" {
			title += ": " + p.Reason
		}
		if p.Message != "" {
			title += ": " + oneLine(p.Message)
		}
		nodes = append(nodes, t.band(p.Time, to, class, title))
	}
	return nodes
}

// upgrades are the releases of the cluster, and the time in which each was rolled out.
func (t chart) upgrades(c *watch.Cluster) g.Node {
	nodes := g.Group{}
	if c.HostedCluster.Status.Version == nil {
		return nodes
	}
	runsUntil := t.end
	for _, u := range c.HostedCluster.Status.Version.History {
		done := t.end
		if u.CompletionTime != nil {
			done = u.CompletionTime.Time
		}
		nodes = append(nodes, t.band(u.StartedTime.Time, done, "rollout", "rollout of "+u.Version))
		if u.State == configv1.CompletedUpdate {
			nodes = append(nodes, t.band(done, runsUntil, "version", u.Version), t.label(done, runsUntil, u.Version))
			runsUntil = u.StartedTime.Time
		}
	}
	return nodes
}

// access are the changes of the access mode. Only the present mode is known by its name.
func (t chart) access(c *watch.Cluster, lanes []timeline.Lane) g.Node {
	nodes := g.Group{}
	aws := c.HostedCluster.Spec.Platform.AWS
	i := slices.IndexFunc(lanes, func(l timeline.Lane) bool {
		return l.Kind == "HostedCluster" && l.Condition == hyperv1.EndpointAccessUpToDate
	})
	if aws == nil || i < 0 {
		return nodes
	}
	points := lanes[i].Points
	for i, p := range points {
		last := i+1 == len(points)
		to := t.end
		if !last {
			to = points[i+1].Time
		}
		switch {
		case p.Status == metav1.ConditionFalse:
			nodes = append(nodes, t.band(p.Time, to, "rollout", "machines change to another access mode: "+oneLine(p.Message)))
		case last:
			nodes = append(nodes, t.band(p.Time, to, "version", string(aws.EndpointAccess)), t.label(p.Time, to, string(aws.EndpointAccess)))
		default:
			nodes = append(nodes, t.band(p.Time, to, "version", "an earlier access mode"))
		}
	}
	return nodes
}

// label writes into a band that is wide enough.
func (t chart) label(from, to time.Time, text string) g.Node {
	const character = 7
	x := t.x(from)
	if t.x(to)-x < float64(character*len(text)) {
		return nil
	}
	return g.El("text", h.Class("inside"), g.Attr("x", number(x+4)), g.Attr("y", fmt.Sprint(bandHeight-1)), g.Text(text))
}

// dots are the events.
func (t chart) dots(c *watch.Cluster) g.Node {
	nodes := g.Group{}
	for i := range c.Events {
		e := &c.Events[i]
		at := watch.EventTime(e)
		if at.Before(t.start) || at.After(t.end) {
			continue
		}
		class := "normal"
		if e.Type == corev1.EventTypeWarning {
			class = "warning"
		}
		nodes = append(nodes, g.El("circle", h.Class("event "+class), g.Attr("cx", number(t.x(at))), g.Attr("cy", fmt.Sprint(2+bandHeight/2)), g.Attr("r", fmt.Sprint(dotRadius)),
			g.El("title", g.Text(at.UTC().Format("15:04:05")+" "+e.Reason+": "+oneLine(e.Message)))))
	}
	return nodes
}

// eventsTable has the events of the window as text, newest first.
func eventsTable(c *watch.Cluster, t chart) g.Node {
	rows := g.Group{}
	for _, e := range slices.Backward(c.Events) {
		at := watch.EventTime(&e)
		if at.Before(t.start) {
			continue
		}
		rows = append(rows, h.Tr(h.Td(instant(at)), h.Td(g.Text(e.Type)), h.Td(g.Text(e.InvolvedObject.Kind+" "+e.InvolvedObject.Name)), h.Td(g.Text(e.Reason)), h.Td(g.Text(oneLine(e.Message)))))
	}
	if len(rows) == 0 {
		return h.P(h.Class("empty"), g.Text("No events in this window. Kubernetes keeps events for an hour."))
	}
	return h.Section(h.H2(g.Text("Events")), scroll("Events", h.Table(heads("When", "Type", "Object", "Reason", "Message"), h.TBody(rows))))
}

// isSlow is true for pages whose facts are not watched.
func isSlow(r *http.Request) bool {
	switch r.Pattern {
	case "GET /doctor", "GET /clusters/{namespace}/{name}/doctor", "GET /leftovers", "GET /leftovers/{infraID}":
		return true
	}
	return false
}
