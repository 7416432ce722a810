package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

type options struct {
	hypershift, name, baseDomain, release, zones, region, access, instanceType string
	workloadImage, guest, bed, directory                                       string
	timeout                                                                    time.Duration
	cleanUp                                                                    bool

	environ  []string
	progress io.Writer
	now      func() time.Time
}

// step is a part of the trial.
type step struct {
	name    string
	command []string
	// run replaces the command.
	run     func(context.Context, io.Writer) error
	environ []string
	timeout time.Duration
	// cleans: the step runs in any case, also after an interrupt.
	cleans bool
	// required: without this step, those that follow have no sense, except for those that clean up.
	required bool
}

// grace is how long a command may take to end after an interrupt.
const grace = time.Minute

// exitRemaining is the exit code of the command line for resources that are left.
const exitRemaining = 4

func (o options) steps(report *Report) []step {
	management := []string{"--region", o.region}
	hypershift := func(args ...string) []string { return append([]string{o.hypershift}, args...) }
	create := append(hypershift("create", "cluster", "aws", "--name", o.name, "--base-domain", o.baseDomain, "--release-image", o.release,
		"--endpoint-access", o.access, "--control-plane-availability-policy", "SingleReplica", "--single-nat-gateway",
		"--instance-type", o.instanceType, "--node-pool-replicas", "2", "--wait", "--timeout", o.timeout.String()), management...)
	if o.zones != "" {
		create = append(create, "--zones", o.zones)
	}
	infraID := func() string { return report.InfraID }
	left := func(ctx context.Context, out io.Writer) ([]resource, error) { return o.leftovers(ctx, out, infraID()) }

	var steps []step
	if o.bed != "none" {
		contract := step{name: "contract", timeout: time.Hour, command: []string{"go", "test", "-count=1", "-timeout", "60m", "-v", "-run", "TestContract/" + o.bed + "$", "github.com/hosted-control-planes/hypershift/test/awscontract"}}
		if o.bed == "aws" {
			contract.environ = []string{"HYPERSHIFT_CONTRACT_AWS=1"}
		}
		steps = append(steps, contract)
	}
	steps = append(steps,
		// Its failures are in the report; the checks of create decide.
		step{name: "doctor", timeout: 5 * time.Minute, command: append(hypershift("doctor", "--aws"), management...)},
		step{name: "create", required: true, timeout: o.timeout + 10*time.Minute, command: create},
		step{name: "resources", timeout: 5 * time.Minute, run: func(ctx context.Context, out io.Writer) (err error) {
			report.Resources, err = left(ctx, out)
			return err
		}},
		step{name: "workload", timeout: 15 * time.Minute, run: o.workload},
	)
	if o.cleanUp {
		steps = nil
	}
	return append(steps,
		step{name: "destroy", cleans: true, timeout: o.timeout + 10*time.Minute, run: func(ctx context.Context, out io.Writer) error {
			if infraID() == "" {
				fmt.Fprintln(out, "no infra ID was recorded: nothing was created")
				return nil
			}
			return o.command(ctx, out, nil, append(hypershift("destroy", "cluster", "aws", "--name", o.name, "--yes"), management...))
		}},
		step{name: "leftovers", cleans: true, timeout: 5 * time.Minute, run: func(ctx context.Context, out io.Writer) error {
			if infraID() == "" {
				return nil
			}
			remaining, err := left(ctx, out)
			if err == nil && len(remaining) > 0 {
				return fmt.Errorf("%d resources are left: %s leftovers aws --infra-id %s", len(remaining), filepath.Base(o.hypershift), infraID())
			}
			return err
		}},
	)
}

// run runs the steps, and writes the report after each of them.
func run(ctx context.Context, o options) (*Report, error) {
	if err := os.MkdirAll(o.directory, 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of the report: %w", err)
	}
	report := &Report{Cluster: o.name, Region: o.region, InstanceType: o.instanceType, Began: o.now().UTC()}
	if o.cleanUp {
		report.InfraID = o.recorded()
	}
	failed := ""
	for _, s := range o.steps(report) {
		stepCtx := ctx
		if s.cleans {
			stepCtx = context.WithoutCancel(ctx)
			if report.InfraID == "" {
				report.InfraID = o.recorded()
			}
		} else if ctx.Err() != nil || failed != "" {
			reason := "step " + failed + " failed"
			if ctx.Err() != nil {
				reason = "the trial was interrupted"
			}
			report.Steps = append(report.Steps, Result{Name: s.name, Outcome: Skipped, Reason: reason})
			continue
		}
		result := o.do(stepCtx, s)
		report.Steps = append(report.Steps, result)
		if s.required && result.Outcome != Passed {
			failed = s.name
		}
		if report.InfraID == "" {
			report.InfraID = o.recorded()
		}
		report.Ended = o.now().UTC()
		if err := report.write(o.directory); err != nil {
			return report, err
		}
	}
	return report, nil
}

func (o options) do(ctx context.Context, s step) Result {
	fmt.Fprintf(o.progress, "%s ...\n", s.name)
	output := &tail{limit: 64 << 10}
	began := o.now()
	limited, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	run := s.run
	if run == nil {
		run = func(ctx context.Context, out io.Writer) error { return o.command(ctx, out, s.environ, s.command) }
	}
	err := run(limited, io.MultiWriter(output, o.progress))
	r := Result{Name: s.name, Command: strings.Join(s.command, " "), Began: began.UTC(), Seconds: o.now().Sub(began).Seconds(), Outcome: Passed, Output: output.String()}
	switch {
	case ctx.Err() != nil:
		r.Outcome, r.Reason = Interrupted, "interrupted"
	case err != nil && limited.Err() != nil:
		r.Outcome, r.Reason = Failed, fmt.Sprintf("not done after %s: %v", s.timeout, err)
	case err != nil:
		r.Outcome, r.Reason = Failed, err.Error()
	}
	fmt.Fprintf(o.progress, "%s: %s after %.0f s %s\n", s.name, r.Outcome, r.Seconds, r.Reason)
	return r
}

// command runs a program. The end of the context interrupts it, so that it ends in its own way.
func (o options) command(ctx context.Context, out io.Writer, environ, args []string) error {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stdout, c.Stderr = out, out
	c.Env = append(append([]string{}, o.environ...), environ...)
	// In a group of its own, so that an interrupt of the terminal reaches this program alone, which decides.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = grace
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(args[0]), err)
	}
	return nil
}

// resource is a row of `leftovers aws -o json`.
type resource struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Kept string `json:"kept,omitempty"`
}

// leftovers returns the cluster's resources in the account.
func (o options) leftovers(ctx context.Context, out io.Writer, infraID string) ([]resource, error) {
	var answer bytes.Buffer
	err := o.command(ctx, io.MultiWriter(&answer, out), nil, []string{o.hypershift, "leftovers", "aws", "--infra-id", infraID, "--name", o.name, "--base-domain", o.baseDomain, "--region", o.region, "-o", "json"})
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitRemaining) {
		return nil, err
	}
	var accounts []struct {
		Resources []resource `json:"resources"`
	}
	text := answer.Bytes()
	if at := bytes.IndexByte(text, '['); at >= 0 {
		text = text[at:]
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&accounts); err != nil {
		return nil, fmt.Errorf("reading the answer of leftovers: %w", err)
	}
	var all []resource
	for _, a := range accounts {
		all = append(all, a.Resources...)
	}
	return all, nil
}

// recorded returns the infra ID that `create cluster` has recorded before its first write, or "".
func (o options) recorded() string {
	home := ""
	for _, v := range o.environ {
		if value, ok := strings.CutPrefix(v, "XDG_STATE_HOME="); ok {
			home = value
		}
	}
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(user, ".local", "state")
	}
	text, err := os.ReadFile(filepath.Join(home, "hypershift", "clusters."+o.name+"-cluster-aws.json"))
	if err != nil {
		return ""
	}
	var record struct {
		InfraID string `json:"infraID"`
	}
	_ = json.Unmarshal(text, &record) // an empty record has no infra ID
	return record.InfraID
}

// tail keeps the end of an output.
type tail struct {
	mu    sync.Mutex
	limit int
	text  []byte
	cut   bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - t.limit; over > 0 {
		t.text, t.cut = t.text[over:], true
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return "…" + strings.ToValidUTF8(string(t.text), "")
	}
	return string(t.text)
}
