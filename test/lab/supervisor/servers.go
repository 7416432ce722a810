package supervisor

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// patience is the timeout of a server on a busy host. On an idle one, an API server takes five seconds.
const patience = 3 * time.Minute

// servers are the processes other than machines. A server that ends is restarted; all end with the supervisor.
type servers struct {
	dir string

	mu    sync.Mutex
	known []*server
}

// server is one of them.
type server struct {
	cluster.ProcessStatus
	end   context.CancelFunc // ends it
	ended chan struct{}      // closed when it has ended for good
}

// start starts a server and waits until its health endpoint returns 200.
func (s *servers) start(ctx context.Context, health string, spec process.Spec) error {
	spec.Log = filepath.Join(s.dir, "logs", spec.Name+".log")
	p, err := process.Start(spec)
	if err != nil {
		return err
	}
	life, end := context.WithCancel(context.Background())
	one := &server{ProcessStatus: cluster.ProcessStatus{Name: spec.Name, Running: true, Since: time.Now(), Log: spec.Log}, end: end, ended: make(chan struct{})}
	s.mu.Lock()
	s.known = append(s.known, one)
	s.mu.Unlock()
	go s.keep(life, p, one)

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Their serving certificates are self-signed, or for other names; these are connections to child processes.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	if err := p.Ready(ctx, client, health); err != nil {
		return fmt.Errorf("starting the lab: %w", err)
	}
	return nil
}

func (s *servers) program(name string) string { return filepath.Join(s.dir, "bin", name) }

// keep restarts a server one second after it has ended, until its life ends.
func (s *servers) keep(life context.Context, p *process.Process, one *server) {
	defer close(one.ended)
	for {
		select {
		case <-life.Done():
			p.Kill()
			return
		case <-p.Done():
		}
		s.update(func() { one.Running = false })
		select {
		case <-life.Done():
			return
		case <-time.After(time.Second):
		}
		next, err := process.Start(p.Spec)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		p = next
		s.update(func() { one.Running, one.Since = true, time.Now(); one.Restarts++ })
	}
}

// stop ends the servers whose names have a prefix, the last one first, and forgets them.
func (s *servers) stop(prefix string) {
	s.mu.Lock()
	var ending []*server
	s.known = slices.DeleteFunc(s.known, func(one *server) bool {
		belongs := strings.HasPrefix(one.Name, prefix)
		if belongs {
			ending = append(ending, one)
		}
		return belongs
	})
	s.mu.Unlock()
	for _, one := range slices.Backward(ending) {
		one.end()
		<-one.ended
	}
}

func (s *servers) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *servers) status() []cluster.ProcessStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []cluster.ProcessStatus
	for _, one := range s.known {
		all = append(all, one.ProcessStatus)
	}
	slices.SortFunc(all, func(a, b cluster.ProcessStatus) int { return a.Since.Compare(b.Since) })
	return all
}
