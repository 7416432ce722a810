package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// SecondOptions configure the second management cluster of a lab.
type SecondOptions struct {
	// Machines is the number of machines, one in each zone in turn; 1 by default. As on AWS, pods of the only machine do not reach a load
	// balancer whose target is that machine, if it preserves the addresses of clients: KubeAPIServerReachable is then Unknown. MemoryMiB is the memory of each; by default as much as
	// the other machines have.
	Machines  int
	MemoryMiB int
	// Progress receives a line for each step; a steps.Reporter also gets the steps of builds.
	Progress io.Writer
}

// Second starts a second management cluster in the lab, or completes the running one. It has a control plane, machines, volumes and a
// cloud-controller-manager of its own. It shares AWS with the first one: the account, the VPC, the bucket, and the accounts of customers. Both
// have the same registry. The returned Lab is that cluster; its Down removes only that cluster.
func (l *Lab) Second(ctx context.Context, o SecondOptions) (*Lab, error) {
	if l.AWS == nil || l.second {
		return nil, errors.New("a second management cluster needs a lab with AWS, and cannot have another one")
	}
	s, err := readState(l.Dir)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("%s contains no lab", l.Dir)
	}
	u := &start{Options: s.Options}
	u.second, u.Machines, u.Zones, u.Progress = true, max(o.Machines, 1), 0, o.Progress
	if o.MemoryMiB > 0 {
		u.MemoryMiB = o.MemoryMiB
	}
	if u.Options, err = u.withDefaults(); err != nil {
		return nil, err
	}
	var running Second
	if err := l.ask(ctx, http.MethodPost, "/second", nil, &running); err != nil {
		return nil, fmt.Errorf("starting the second management cluster: %w", err)
	}
	u.report("control plane of the second management cluster")
	second, err := l.openSecond(running)
	if err != nil {
		return nil, err
	}
	if err := u.furnish(ctx, second); err != nil {
		return nil, err
	}
	if err := u.machines(ctx, second); err != nil {
		return nil, err
	}
	return second, u.waitForDNS(ctx, second)
}

// FindSecond returns the second management cluster of the lab, which must be running.
func (l *Lab) FindSecond(ctx context.Context) (*Lab, error) {
	status, err := l.Status(ctx)
	if err != nil {
		return nil, err
	}
	if status.Second == nil {
		return nil, fmt.Errorf("no second management cluster runs in the lab in %s", l.Dir)
	}
	return l.openSecond(*status.Second)
}

func (l *Lab) openSecond(running Second) (*Lab, error) {
	second := *l
	second.Dir, second.Management, second.second = SecondDir(l.Dir), running.Management, true
	second.Kubeconfig = Kubeconfig(second.Dir)
	return &second, second.readKubeconfig()
}
