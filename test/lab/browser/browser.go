// Package browser opens pages in a real browser: Chromium, without a window.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// stepTimeout is how long one action may take.
const stepTimeout = 30 * time.Second

// names are the names of the program in distributions.
var names = []string{"chromium", "chromium-browser", "google-chrome"}

// Program returns the browser of this machine, or "".
func Program() string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Page is a tab of a browser.
type Page struct {
	t   testing.TB
	ctx context.Context
}

// Open starts a browser with one tab, which ends with the test. Without a browser the test is skipped: it is the package chromium in Debian,
// which `hack/packages/install.sh browser` installs.
func Open(t testing.TB) *Page {
	t.Helper()
	program := Program()
	if program == "" {
		t.Skip("no browser: hack/packages/install.sh browser installs Chromium on Debian")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WindowSize(1400, 1000), chromedp.Flag("hide-scrollbars", true))
	if os.Getuid() == 0 {
		// The sandbox of Chromium needs a user that is not root.
		options = append(options, chromedp.NoSandbox)
	}
	allocated, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocated)
	t.Cleanup(cancel)
	// The first action starts the browser, which ends with the context of that action.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", program, err)
	}
	return &Page{t, ctx}
}

// Value runs an action and returns its value.
func Value[T any](p *Page, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, stepTimeout)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
	return value
}

// Eval returns the value of a JavaScript expression.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	return Value(p, chromedp.Evaluate[T](expression))
}

// Go opens an address, and returns when the page is loaded.
func (p *Page) Go(address string) {
	p.t.Helper()
	Value(p, chromedp.Navigate(address))
}

// Reload loads the page again.
func (p *Page) Reload() {
	p.t.Helper()
	Value(p, chromedp.Reload())
}

// Press presses keys, such as "\t", one after the other.
func (p *Page) Press(keys string) {
	p.t.Helper()
	Value(p, chromedp.KeyEvent(keys))
}

// Type writes into the first element that matches.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	Value(p, chromedp.SendKeys(selector, text))
}

// Text returns the text of the first element that matches, or "" if there is none.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return Eval[string](p, fmt.Sprintf("(document.querySelector(%s) || {textContent: ''}).textContent", quoted(selector)))
}

// Attribute returns an attribute of the first element that matches, or "".
func (p *Page) Attribute(selector, name string) string {
	p.t.Helper()
	return Eval[string](p, fmt.Sprintf("((document.querySelector(%s) || document.createElement('p')).getAttribute(%s) || '')", quoted(selector), quoted(name)))
}

// Has waits until a JavaScript expression is true, and returns how long that took. It fails the test after the timeout.
func (p *Page) Has(expression string, timeout time.Duration) time.Duration {
	p.t.Helper()
	started := time.Now()
	for {
		if Eval[bool](p, "!!("+expression+")") {
			return time.Since(started)
		}
		if time.Since(started) > timeout {
			p.t.Fatalf("not within %s: %s\nthe page is\n%s", timeout, expression, p.Text("body"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func quoted(text string) string {
	b, _ := json.Marshal(text) // a string has no error
	return string(b)
}

// Appearance is how a page is shown.
type Appearance struct {
	Width, Height int64
	Dark          bool
}

// Show changes how pages are shown.
func (p *Page) Show(a Appearance) {
	p.t.Helper()
	scheme := "light"
	if a.Dark {
		scheme = "dark"
	}
	Value(p, chromedp.EmulateViewport(a.Width, a.Height))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, media); err != nil {
		p.t.Fatalf("in the browser: %v", err)
	}
}

// Screenshot writes a picture of the whole page.
func (p *Page) Screenshot(path string) {
	p.t.Helper()
	if err := os.WriteFile(path, Value(p, chromedp.FullScreenshot(100)), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// Violation is a finding of axe-core.
type Violation struct {
	ID     string `json:"id"`
	Impact string `json:"impact"`
	Help   string `json:"help"`
	Nodes  []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

func (v Violation) String() string {
	text := fmt.Sprintf("%s (%s): %s", v.ID, v.Impact, v.Help)
	for _, n := range v.Nodes {
		text += "\n  " + n.HTML + "\n  " + strings.ReplaceAll(n.Summary, "\n", "\n  ")
	}
	return text
}
