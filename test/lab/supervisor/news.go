package supervisor

import (
	"os"
	"strings"
	"sync"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// news is what has happened on the way up, for those who follow it, from whenever they do.
type news struct {
	mu      sync.Mutex
	steps   []cluster.Step
	changed chan struct{} // closed, and another one, when there is a step
}

func newNews() *news { return &news{changed: make(chan struct{})} }

func (n *news) add(text string) { n.publish(cluster.Step{Text: text}) }
func (n *news) end()            { n.publish(cluster.Step{Done: true}) }

// Write takes what others report, a line each. It is in our log too, where it goes on when the lab is up.
func (n *news) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		n.add(strings.TrimRight(line, "\n"))
	}
	return os.Stderr.Write(p)
}

func (n *news) publish(step cluster.Step) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.steps) - 1; last >= 0 && n.steps[last].Done {
		return
	}
	n.steps = append(n.steps, step)
	close(n.changed)
	n.changed = make(chan struct{})
}

// since gives the steps after the first ones, and what is closed when there are more.
func (n *news) since(first int) ([]cluster.Step, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.steps[first:], n.changed
}
