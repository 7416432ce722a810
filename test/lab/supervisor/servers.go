package supervisor

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
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
	known []*cluster.ProcessStatus
}

// start starts a server and waits until its health endpoint returns 200.
func (s *servers) start(ctx context.Context, health string, spec process.Spec) error {
	spec.Path = s.program(spec.Name)
	spec.Log = filepath.Join(s.dir, "logs", spec.Name+".log")
	p, err := process.Start(spec)
	if err != nil {
		return err
	}
	status := &cluster.ProcessStatus{Name: spec.Name, Running: true, Since: time.Now(), Log: spec.Log}
	s.mu.Lock()
	s.known = append(s.known, status)
	s.mu.Unlock()
	go s.keep(p, status)

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

// keep restarts a server one second after it has ended.
func (s *servers) keep(p *process.Process, status *cluster.ProcessStatus) {
	for {
		<-p.Done()
		s.update(func() { status.Running = false })
		time.Sleep(time.Second)
		next, err := process.Start(p.Spec)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		p = next
		s.update(func() { status.Running, status.Since = true, time.Now(); status.Restarts++ })
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
		all = append(all, *one)
	}
	slices.SortFunc(all, func(a, b cluster.ProcessStatus) int { return a.Since.Compare(b.Since) })
	return all
}
