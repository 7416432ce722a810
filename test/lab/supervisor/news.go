package supervisor

import (
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

func (n *news) publish(step cluster.Step) {
	n.mu.Lock()
	defer n.mu.Unlock()
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
