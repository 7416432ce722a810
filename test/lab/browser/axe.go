package browser

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"io"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// axe is axe-core (github.com/dequelabs/axe-core), compressed. Its licence is in axe.LICENSE.
//
//go:embed axe-4.14.1.min.js.gz
var axe []byte

// Accessibility returns what axe-core finds on the page by the rules of WCAG 2.2, levels A and AA, and by its best practices.
func (p *Page) Accessibility() []Violation {
	p.t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(axe))
	if err != nil {
		p.t.Fatal(err)
	}
	script, err := io.ReadAll(zipped)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := chromedp.Call(p.ctx, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true}); err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
	Value(p, chromedp.Evaluate[chromedp.Void](string(script)))
	text := Value(p, chromedp.Evaluate[string](`axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations))`, chromedp.EvalAwaitPromise))
	var violations []Violation
	if err := json.Unmarshal([]byte(text), &violations); err != nil {
		p.t.Fatal(err)
	}
	return violations
}
