package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/test/fixture/process"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
)

// Up starts a lab, or returns the running one, unless it must be new. It returns when all nodes are ready.
func Up(ctx context.Context, o Options) (*Lab, error) {
	if existing() {
		return useExisting(ctx, o)
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of the lab: %w", err)
	}
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	u := &start{Options: o}
	if o.New {
		if err := MustNotBeUp(o); err != nil {
			return nil, err
		}
	}
	lab, err := u.run(ctx)
	if err != nil && ctx.Err() != nil {
		// A lab that has not become ready is of no use.
		err = errors.Join(err, down(context.WithoutCancel(ctx), o))
	}
	if err != nil {
		os.Remove(o.Dir) // only if it is empty
	}
	return lab, err
}

// start is one run of Up.
type start struct{ Options }

func (u *start) report(format string, args ...any) {
	fmt.Fprintf(u.Progress, format+"\n", args...)
}

func (u *start) run(ctx context.Context) (*Lab, error) {
	s, err := readState(u.Dir)
	if err != nil {
		return nil, err
	}
	if s == nil || !s.alive() {
		if s != nil {
			u.report("removing the remains of a lab that has ended")
		}
		if err := down(ctx, u.Options); err != nil {
			return nil, err
		}
		if s, err = u.supervisor(ctx); err != nil {
			return nil, err
		}
	}
	lab := open(u.Dir)
	if err := u.follow(ctx, lab, s); err != nil {
		// The error contains the last lines of the supervisor, with up to twenty of the server that failed.
		return nil, fmt.Errorf("%w\nlogs are in %s; last lines of the supervisor:\n%s",
			err, lab.path("logs"), process.Tail(lab.path("logs", supervisorLog), 25))
	}
	if err := lab.connect(ctx); err != nil {
		return nil, err
	}
	if err := u.furnish(ctx, lab); err != nil {
		return nil, err
	}
	if err := u.machines(ctx, lab); err != nil {
		return nil, err
	}
	return lab, u.waitForDNS(ctx, lab)
}

const supervisorLog = "supervisor.log"

// AuditLog is the log file with the writes of the operators, one line of JSON each.
const AuditLog = "audit.log"

// supervisor starts a supervisor.
func (u *start) supervisor(ctx context.Context) (*state, error) {
	if missing := Missing(ctx, u.Options); len(missing) > 0 {
		return nil, fmt.Errorf("this host cannot run a lab; it lacks\n  %s", strings.Join(missing, "\n  "))
	}
	if err := mustBeEmpty(u.Dir); err != nil {
		return nil, err
	}
	s := &state{Options: u.Options}
	if err := s.write(); err != nil {
		return nil, err
	}
	if err := u.build(ctx); err != nil {
		return nil, err
	}
	u.report("programs are in %s", filepath.Join(u.Dir, "bin"))
	if err := s.prepareHost(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(u.Dir, "logs"), 0o755); err != nil {
		return nil, fmt.Errorf("making the directory of the lab: %w", err)
	}
	log, err := os.Create(filepath.Join(u.Dir, "logs", supervisorLog))
	if err != nil {
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	defer log.Close()
	pid1, err := namespace.Start(log, filepath.Join(u.Dir, "bin", "lab"), "pid1", "lab", u.Dir)
	if err != nil {
		return nil, err
	}
	// Until the gate opens, the supervisor waits. If this process dies before, the supervisor never starts.
	if s.Began, err = began(pid1.PID()); err == nil {
		s.PID = pid1.PID()
		err = errors.Join(s.write(), plugIn(s.PID, u.Dir))
	}
	if err == nil {
		err = pid1.Open()
	}
	if err != nil {
		pid1.Kill()
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	return s, nil
}

// mustBeEmpty prevents the use of another directory by mistake: Down removes all files in it.
func mustBeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking into the directory of the lab: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != newStateFile { // a previous run may have died while it wrote this file
			return fmt.Errorf("%s is not empty, and does not belong to a lab", dir)
		}
	}
	return nil
}

// follow reports the steps of the supervisor until the control plane runs.
func (u *start) follow(ctx context.Context, lab *Lab, s *state) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for _, err := os.Stat(Socket(u.Dir)); err != nil; _, err = os.Stat(Socket(u.Dir)) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
		if !s.alive() {
			return errors.New("the supervisor has ended")
		}
	}
	return lab.progress(ctx, func(text string) { u.report("%s", text) })
}

// patience is the timeout for a node to become ready on a busy host.
const patience = 3 * time.Minute

// machines adds the missing first machines, all at once.
func (u *start) machines(ctx context.Context, lab *Lab) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	status, err := lab.Status(ctx)
	if err != nil {
		return err
	}
	var wanted []MachineOptions
	for _, m := range u.FirstMachines() {
		if !status.has(m.Name) {
			wanted = append(wanted, m)
		}
	}
	all, ctx := errgroup.WithContext(ctx)
	for _, m := range wanted {
		all.Go(func() error {
			if err := lab.AddMachine(ctx, m); err != nil {
				return err
			}
			if err := lab.WaitForNode(ctx, m.Name); err != nil {
				return err
			}
			u.report("node %s is ready", m.Name)
			return nil
		})
	}
	return all.Wait()
}
