package imageregistry

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// CollectCommand is the name of the subcommand.
const CollectCommand = "image-registry-garbage-collection"

// A Collection runs the garbage collection of the registry while no gateway accepts writes.
type Collection struct {
	// Program is the garbage collection, with its arguments.
	Program []string

	cluster *cluster
	now     func() time.Time
	// sleep waits, or until ctx ends.
	sleep  func(context.Context, time.Duration)
	holder string
}

// ParseCollection reads the arguments after the name of the subcommand: a program, with its arguments.
func ParseCollection(args []string) (*Collection, error) {
	fs := flag.NewFlagSet(CollectCommand, flag.ContinueOnError)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() == 0 {
		return nil, errors.New("a program is needed after --")
	}
	return &Collection{Program: fs.Args(), now: clock.RealClock{}.Now, sleep: sleep}, nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Run acquires the Lease, waits until all gateways refuse writes, and runs the program. The program is killed if the Lease may have expired, and
// with this process, which is the first of its container.
func (c *Collection) Run(ctx context.Context) (err error) {
	if c.cluster, err = inCluster(); err != nil {
		return err
	}
	if c.holder, err = os.Hostname(); err != nil {
		return err
	}
	return c.run(ctx)
}

func (c *Collection) run(ctx context.Context) (err error) {
	if err := c.renew(ctx, c.holder); err != nil {
		return fmt.Errorf("acquiring Lease %s: %w", leaseName, err)
	}
	held, lost := context.WithCancelCause(ctx)
	renewals := make(chan struct{})
	go func() { defer close(renewals); lost(c.keep(held)) }()
	defer func() {
		lost(nil)
		<-renewals
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseRenewal)
		defer cancel()
		err = errors.Join(err, c.renew(last, ""))
	}()
	if c.sleep(held, settling); held.Err() != nil {
		return context.Cause(held)
	}
	program := exec.CommandContext(held, c.Program[0], c.Program[1:]...) //nolint:gosec // the pod names it
	program.Stdout, program.Stderr = os.Stdout, os.Stderr
	if err := program.Run(); err != nil {
		return fmt.Errorf("%s: %w", c.Program[0], errors.Join(err, context.Cause(held)))
	}
	return nil
}

// keep renews the Lease until ctx ends, and returns an error once it may have expired.
func (c *Collection) keep(ctx context.Context) error {
	for renewed := c.now(); ; {
		if c.sleep(ctx, leaseRenewal); ctx.Err() != nil {
			return nil
		}
		began := c.now()
		err := c.renew(ctx, c.holder)
		switch {
		case err == nil:
			renewed = began
		case c.now().Sub(renewed) > leaseLife/2:
			return fmt.Errorf("lease %s could not be renewed: %w", leaseName, err)
		default:
			logr.FromContextOrDiscard(ctx).Error(err, "The Lease of the garbage collection cannot be renewed")
		}
	}
}

// renew writes the Lease, unless another pod holds it. An empty holder releases it.
func (c *Collection) renew(ctx context.Context, holder string) error {
	var current lease
	err := c.cluster.do(ctx, http.MethodGet, leases+"/"+leaseName, nil, &current)
	missing := isStatus(err, http.StatusNotFound)
	if err != nil && !missing {
		return err
	}
	if other := current.Spec.HolderIdentity; other != "" && other != c.holder && !c.expired(current.Spec) {
		return fmt.Errorf("pod %s holds it", other)
	}
	current.Spec = leaseSpec{HolderIdentity: holder, LeaseDurationSeconds: int(leaseLife.Seconds()), RenewTime: c.now().UTC().Format(microTime)}
	if missing {
		current.APIVersion, current.Kind = "coordination.k8s.io/v1", "Lease"
		current.Metadata = map[string]any{"name": leaseName, "namespace": "kube-system"}
		return c.cluster.do(ctx, http.MethodPost, leases, current, &current)
	}
	return c.cluster.do(ctx, http.MethodPut, leases+"/"+leaseName, current, &current)
}

// microTime is the format of times in a Lease.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// expired reports whether the holder has not renewed the Lease for long. Clocks of nodes may differ.
func (c *Collection) expired(s leaseSpec) bool {
	renewed, err := time.Parse(time.RFC3339Nano, s.RenewTime)
	return err != nil || c.now().Sub(renewed) > 2*leaseLife
}
