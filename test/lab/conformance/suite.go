package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hosted-control-planes/hypershift/test/lab/conformance/report"
)

// part is one call of ginkgo.
type part struct {
	name      string
	processes int
	// filter is an expression over labels of specs.
	filter string
	// focus is a pattern that names must match, skip a pattern that they must not match.
	focus, skip string
	specs       int
}

// parts divides the wanted specs into those that run in parallel and those that must run alone. Beyond the conformance tests there are none of these.
func parts(o options, p plan) []part {
	if o.beyond {
		return []part{beyondPart(o, p)}
	}
	parallel := part{name: "parallel", processes: o.processes, filter: "Conformance && !Serial"}
	serial := part{name: "serial", processes: 1, filter: "Conformance && Serial"}
	if o.selection.Quick {
		parallel.filter += " && !Slow"
		parallel.focus = report.QuickFocus
	}
	if o.selection.Focus != nil {
		parallel.focus = o.selection.Focus.String()
		serial.focus = parallel.focus
	}
	for _, name := range p.wanted {
		if report.Serial(name) {
			serial.specs++
		} else {
			parallel.specs++
		}
	}
	return slices.DeleteFunc([]part{parallel, serial}, func(p part) bool { return p.specs == 0 })
}

// of is the part in a round of the specs: a later round does not overwrite the output of an earlier one.
func (p part) of(round int) part {
	if round > 1 {
		p.name = fmt.Sprintf("%s-%d", p.name, round)
	}
	return p
}

// beyondPart returns the part with the specs beyond the conformance tests.
func beyondPart(o options, p plan) part {
	all := part{name: "beyond", processes: o.processes, filter: report.BeyondFilter, skip: p.skip, specs: len(p.wanted)}
	if o.selection.Focus != nil {
		all.focus = o.selection.Focus.String()
	}
	return all
}

// timeout is the timeout of one part. The slowest spec takes eight minutes.
func (o options) timeout() time.Duration {
	if o.beyond {
		return 4 * time.Hour
	}
	return 2 * time.Hour
}

// suite runs the specs against a hosted cluster.
type suite struct {
	*run
	repositories string
	kubeconfig   string
	addresses    map[string]string
}

// do runs one part and reads its report. It returns an error if ginkgo ends without one.
func (s *suite) do(ctx context.Context, p part) ([]report.Spec, []string, error) {
	repositories, hosts, results := filepath.Join(s.dir, "repositories.yaml"), filepath.Join(s.dir, "hosts"), filepath.Join(s.dir, p.name+".json")
	etc, err := os.ReadFile("/etc/hosts")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	if err := errors.Join(
		os.WriteFile(repositories, []byte(s.repositories), 0o644),
		os.WriteFile(hosts, []byte(hostsFile(string(etc), s.addresses)), 0o644),
		// The results of an earlier run.
		unlessMissing(os.Remove(results)),
	); err != nil {
		return nil, nil, fmt.Errorf("preparing the suite: %w", err)
	}
	log, err := os.Create(filepath.Join(s.dir, p.name+".log"))
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the suite: %w", err)
	}
	defer log.Close()
	s.report("running %d specs, %s (%d processes); the output is in %s", p.specs, p.name, p.processes, log.Name())
	cmd, err := s.command(ctx, p, hosts)
	if err != nil {
		return nil, nil, err
	}
	cmd.Env = append(os.Environ(), "KUBE_TEST_REPO_LIST="+repositories, "KUBECONFIG="+s.kubeconfig,
		"PATH="+filepath.Dir(s.program("kubectl"))+":"+os.Getenv("PATH"))
	f := &follower{log: log, name: p.name, total: p.specs, report: s.report, began: time.Now()}
	cmd.Stdout, cmd.Stderr = f, f
	stop := f.beat()
	failed := runGroup(cmd)
	stop()
	file, err := os.Open(results)
	if err != nil {
		return nil, nil, fmt.Errorf("ginkgo left no report: %w\n%s", errors.Join(failed, err), f.tail())
	}
	defer file.Close()
	specs, problems, err := report.Parse(file)
	explained := len(problems) > 0 || slices.ContainsFunc(specs, func(s report.Spec) bool { return s.State == report.Failed })
	if err == nil && failed != nil && !explained {
		err = fmt.Errorf("ginkgo failed: %w\n%s", failed, f.tail())
	}
	return specs, problems, err
}

// runGroup runs a program that is the first of a process group, and ends the remaining processes of that group: ginkgo leaves processes
// when it is interrupted twice or killed.
func runGroup(cmd *exec.Cmd) error {
	err := cmd.Run()
	if cmd.Process != nil {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
	return err
}

// unlessMissing is nil if a file does not exist.
func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// command is a call of ginkgo with a file of hosts. The tests call kubectl with --server, which drops the TLS server name of a
// kubeconfig: the server must have its real name.
func (s *suite) command(ctx context.Context, p part, hosts string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, slices.Concat([]string{withHosts, hosts, s.program("ginkgo")}, s.arguments(p))...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL, Setpgid: true}
	// After an interrupt, ginkgo ends its processes and writes reports.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	return cmd, nil
}

// arguments returns the arguments of ginkgo, and after -- the arguments of the suite. -1 stops the suite from waiting for nodes itself,
// which r.hosted has done.
func (s *suite) arguments(p part) []string {
	args := []string{
		"run", "--no-color", "-v", fmt.Sprintf("--procs=%d", p.processes), "--timeout=" + s.timeout().String(), "--poll-progress-after=5m",
		"--output-dir=" + s.dir, "--json-report=" + p.name + ".json", "--junit-report=" + p.name + ".xml", "--label-filter=" + p.filter,
	}
	if p.focus != "" {
		args = append(args, "--focus="+p.focus)
	}
	if p.skip != "" {
		args = append(args, "--skip="+p.skip)
	}
	attempts := s.during.attempts
	if s.selection.Quick && s.during.name == "" {
		attempts = 2 // it is not for a report, and runs at the same time as other work
	}
	if attempts > 0 {
		args = append(args, fmt.Sprintf("--flake-attempts=%d", attempts))
	}
	if s.during.abrupt {
		args = append(args, "--skip="+crashing)
	}
	return append(args, s.program("e2e.test"), "--",
		"--provider=skeleton", "--kubeconfig="+s.kubeconfig, "--kubectl-path="+s.program("kubectl"), fmt.Sprintf("--num-nodes=%d", s.workers),
		"--allowed-not-ready-nodes=-1", "--disable-log-dump", "--dump-logs-on-failure=false", "--delete-namespace=true")
}

// hostsFile adds the addresses to a file of hosts.
func hostsFile(etc string, addresses map[string]string) string {
	var out strings.Builder
	out.WriteString(strings.TrimSpace(etc) + "\n")
	for _, host := range slices.Sorted(maps.Keys(addresses)) {
		fmt.Fprintf(&out, "%s %s\n", addresses[host], host)
	}
	return out.String()
}

// withHosts is the command with which this program calls itself in a mount namespace of its own:
//
//	conformance with-hosts FILE PROGRAM ARGUMENTS
const withHosts = "with-hosts"

// becomeWithHosts mounts a file over /etc/hosts, and executes a program. It must run in a mount namespace of its own.
func becomeWithHosts(file string, program []string) error {
	if err := mustNotShareMounts(); err != nil {
		return err
	}
	if err := unix.Mount(file, "/etc/hosts", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting the file of hosts (needs root): %w", err)
	}
	return unix.Exec(program[0], program, os.Environ())
}

// mustNotShareMounts fails in the mount namespace of the parent: the parent's /etc/hosts must not change.
func mustNotShareMounts() error {
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return err
	}
	parents, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/mnt", os.Getppid()))
	if err != nil {
		return err
	}
	if own == parents {
		return errors.New(withHosts + " is not for users")
	}
	return nil
}
