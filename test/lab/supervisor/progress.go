package supervisor

import (
	"os"
	"strings"
	"sync"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// progress is the list of steps of the start. A client gets all of them, whenever it connects.
type progress struct {
	mu      sync.Mutex
	steps   []cluster.Step
	changed chan struct{} // closed and replaced at each step
}

func newProgress() *progress { return &progress{changed: make(chan struct{})} }

func (p *progress) add(text string) { p.publish(cluster.Step{Text: text}) }
func (p *progress) end()            { p.publish(cluster.Step{Done: true}) }

// Write adds the lines of components as steps. It also writes them to the log, which continues after the start.
func (p *progress) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		p.add(strings.TrimRight(line, "\n"))
	}
	return os.Stderr.Write(text)
}

func (p *progress) publish(step cluster.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.steps) - 1; last >= 0 && p.steps[last].Done {
		return
	}
	p.steps = append(p.steps, step)
	close(p.changed)
	p.changed = make(chan struct{})
}

// since returns the steps from number first on, and a channel that is closed when another one follows.
func (p *progress) since(first int) ([]cluster.Step, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.steps[first:], p.changed
}
