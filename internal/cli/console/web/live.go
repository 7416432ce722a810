package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/clock"
	g "maragu.dev/gomponents"

	"github.com/hosted-control-planes/hypershift/internal/cli/console/fleet"
)

const (
	// heartbeat is how often a live page gets the time at which the state was current. The page reports a lost connection after a few of them.
	heartbeat = 2 * time.Second
	// writeTimeout is how long a browser may take for an event.
	writeTimeout = 10 * time.Second
	// refresh is how often a page is made again without a change: the timeline ends now.
	refresh = 15 * time.Second
)

// update is a part of a page that has changed: the element with this id gets this HTML.
type update struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// currency is how current a page is.
type currency struct {
	// AsOf is when the management cluster responded last.
	AsOf time.Time `json:"asOf"`
	// Problem is why the state may be older than now; "": it is current.
	Problem string `json:"problem,omitempty"`
}

func currencyOf(m *Model) currency {
	h := m.Health()
	c := currency{AsOf: h.Reached.UTC()}
	if h.Err != nil {
		c.Problem = "The management cluster does not respond as it should: " + oneLine(h.Err.Error())
	}
	return c
}

// stream is a connection of /live.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	clock   clock.Clock
}

func (s stream) send(event string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("event %s: %w", event, err)
	}
	if err := s.control.SetWriteDeadline(s.clock.Now().Add(writeTimeout)); err != nil {
		return fmt.Errorf("event %s: %w", event, err)
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, text); err != nil {
		return fmt.Errorf("event %s: %w", event, err)
	}
	return s.control.Flush()
}

// live sends the changes of a page, whose path and query are the parameter page.
func (s *Server) live(w http.ResponseWriter, r *http.Request) {
	page, err := url.Parse(r.URL.Query().Get("page"))
	if err != nil || page.Host != "" || !strings.HasPrefix(page.Path, "/") {
		http.Error(w, "the parameter page must be the path of a page", http.StatusBadRequest)
		return
	}
	request, exists := s.requestOf(r, page)
	if !exists {
		http.Error(w, "there is no such page", http.StatusNotFound)
		return
	}
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "too many pages of this console are open", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := stream{w, http.NewResponseController(w), s.Clock}
	_ = out.control.SetReadDeadline(time.Time{}) // the connection is longer than a request
	watched := s.model.watchPage()
	defer s.model.unwatchPage(watched)
	_ = s.follow(r.Context(), request, watched, out) // the browser has gone
}

// requestOf returns the request of a page, with the values of its path.
func (s *Server) requestOf(r *http.Request, page *url.URL) (matched *http.Request, exists bool) {
	mux := http.NewServeMux()
	for pattern := range s.pages() {
		mux.HandleFunc("GET "+pattern, func(_ http.ResponseWriter, r *http.Request) { matched = r })
	}
	request := r.Clone(r.Context())
	request.URL = page
	mux.ServeHTTP(discard{}, request)
	return matched, matched != nil
}

// discard is for requests that are only matched with a pattern.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}

func (s *Server) follow(ctx context.Context, request *http.Request, watched *pageWatch, out stream) error {
	beat, again := s.Clock.NewTicker(heartbeat), s.Clock.NewTicker(refresh)
	defer beat.Stop()
	defer again.Stop()
	p := s.newLivePage(request)
	// The page was made before this connection.
	if err := p.update(ctx, out); err != nil {
		return err
	}
	for {
		if err := out.send("current", currencyOf(s.model)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C():
			continue
		case <-again.C():
		case <-watched.signal:
			if !p.concerns(watched) {
				continue
			}
		}
		if err := p.update(ctx, out); err != nil {
			return err
		}
	}
}

// livePage has what a browser shows.
type livePage struct {
	*Server
	request *http.Request
	fleet   bool
	// main is the last version of the page. The fleet has rows instead.
	main string
	rows map[string]string
	keys []string
}

func (s *Server) newLivePage(request *http.Request) *livePage {
	return &livePage{Server: s, request: request, fleet: request.Pattern == "GET /{$}", rows: map[string]string{}}
}

// concerns is true if one of the changed clusters is on the page.
func (p *livePage) concerns(watched *pageWatch) bool {
	changed := p.model.take(watched)
	name := p.request.PathValue("name")
	if name == "" {
		return p.fleet
	}
	for key := range changed {
		if key.Namespace == p.request.PathValue("namespace") && key.Name == name {
			return true
		}
	}
	return false
}

func (p *livePage) update(ctx context.Context, out stream) error {
	if p.fleet {
		return p.updateFleet(out)
	}
	if isSlow(p.request) {
		return nil // a page whose facts are not watched is loaded again by its user
	}
	html := render(p.render(ctx, p.request).main)
	if html == p.main {
		return nil
	}
	p.main = html
	return out.send("morph", update{ID: "content", HTML: html})
}

// updateFleet sends the rows that have changed. After a change of their order, or of the number of rows, it sends the whole list.
func (p *livePage) updateFleet(out stream) error {
	all := p.model.Rows()
	rows := queryOf(p.request).Select(all)
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.UID
	}
	summary := render(p.summary(all, p.request))
	if summary != p.main {
		p.main = summary
		if err := out.send("morph", update{ID: "summary", HTML: summary}); err != nil {
			return err
		}
	}
	if !slices.Equal(keys, p.keys) {
		p.keys, p.rows = keys, map[string]string{}
		for _, row := range rows {
			p.rows[row.UID] = render(rowNode(row))
		}
		return out.send("morph", update{ID: "rows", HTML: render(rowsNode(rows))})
	}
	for _, row := range rows {
		if html := render(rowNode(row)); html != p.rows[row.UID] {
			p.rows[row.UID] = html
			if err := out.send("morph", update{ID: rowID(row), HTML: html}); err != nil {
				return err
			}
		}
	}
	return nil
}

func rowID(r fleet.Row) string { return "row-" + r.UID }

func render(n g.Node) string {
	var b strings.Builder
	_ = n.Render(&b) // a strings.Builder has no errors
	return b.String()
}
