package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

// asProcess is the variable with which the test program is the command line.
const asProcess = "HYPERSHIFT_TEST_PROCESS"

// window is how long lists may lack created resources, for processes. A call of a process that was killed is carried out within it.
const window = 2 * time.Second

// process is the main function of the command line, with a shorter window of eventual consistency.
func process() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env := operation.System()
	env.ConsistencyWindow, env.Timeout = window, 20*time.Second
	return cli.Run(ctx, "hypershift", os.Args[1:], env)
}

// running is a command in a process of its own.
type running struct {
	*exec.Cmd
	out bytes.Buffer
	err *synchronized
}

// start starts a command in a process of its own, which may run while others do.
func (u *user) start(args ...string) *running {
	u.t.Helper()
	program, err := os.Executable()
	u.try(err)
	r := &running{Cmd: exec.CommandContext(u.t.Context(), program, args...), err: &u.err}
	r.Env = append(append(os.Environ(), emulator.Env(u.account)...), asProcess+"=1", "XDG_STATE_HOME="+u.env.StateHome)
	r.Stdout, r.Stderr = &r.out, r.err
	u.try(r.Start())
	return r
}

// finish runs a command in a process of its own, and ends the test if it fails.
func (u *user) finish(args ...string) {
	u.t.Helper()
	r := u.start(args...)
	if err := r.Wait(); err != nil {
		u.t.Fatalf("hypershift %s: %v\n%s%s", strings.Join(args, " "), err, r.err.String(), r.out.String())
	}
}

// carriedOut returns the names of the writing calls that the account has made.
func (u *user) carriedOut() (names []string) {
	u.t.Helper()
	calls, err := emulator.CallsOf(u.t.Context(), u.account)
	u.try(err)
	for _, c := range calls {
		if isWrite(c.Action) {
			names = append(names, c.Action)
		}
	}
	return names
}

// kill starts a command, and kills its process during a call, which is carried out afterwards. It returns a function that waits until it was.
func (u *user) kill(at call, args ...string) (await func()) {
	u.t.Helper()
	delayed := func() bool {
		calls, err := emulator.CallsOf(u.t.Context(), u.account)
		u.try(err)
		return slices.ContainsFunc(calls, func(c awsemulator.Call) bool { return c.Fault == awsemulator.Latency })
	}
	u.try(emulator.Fault(u.t.Context(), awsemulator.Fault{Kind: awsemulator.Latency, Action: at.action, Account: u.account, Skip: at.n - 1, Seconds: 1}))
	r := u.start(args...)
	u.until(func() bool {
		left, err := emulator.FaultsLeft(u.t.Context(), u.account)
		u.try(err)
		return len(left) == 0
	})
	u.try(r.Process.Kill())
	if err := r.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		u.t.Fatalf("the process ended before: %v\n%s", err, r.err.String())
	}
	return func() { u.until(delayed) }
}

// until waits for a condition.
func (u *user) until(condition func() bool) {
	u.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			u.t.Fatalf("the condition is not true after a minute:\n%s", u.err.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// trial is a command that is killed, with the command that deletes what it creates. Each runs as a role with its policy: an interrupted
// command looks up resources that it may have created, which a run without an interruption does not.
type trial struct {
	create, destroy func(u *user) []string
	// policies are of the commands, by the names of their files in config/iam/commandline.
	createPolicy, destroyPolicy string
	// given creates the command's prerequisites, or is nil.
	given func(u *user)
	// actions are those that are interrupted. None: all.
	actions []string
}

func TestProcessThatIsKilledIsResumed(t *testing.T) {
	trial{
		create: func(*user) []string { return createInfra("us-east-1a") }, createPolicy: "create-infra",
		destroy: func(*user) []string { return destroyInfra() }, destroyPolicy: "destroy-infra",
	}.run(t)
}

// The keys of a secure proxy are other ones in each process. The rest of the network is the network of the test above.
func TestProcessThatIsKilledWhileItCreatesAProxyIsResumed(t *testing.T) {
	ofProxy := []string{
		"CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "RunInstances", "TerminateInstances", "RevokeSecurityGroupIngress", "DeleteSecurityGroup",
	}
	trial{
		create: func(*user) []string { return createInfra("us-east-1a", "--enable-secure-proxy") }, createPolicy: "create-infra-proxy",
		destroy: func(*user) []string { return destroyInfra() }, destroyPolicy: "destroy-infra",
		actions: ofProxy,
	}.run(t)
}

func TestProcessThatIsKilledWhileItCreatesRolesIsResumed(t *testing.T) {
	trial{
		given: func(u *user) {
			u.try(os.WriteFile(u.infraJSON(), []byte(`{"infraID": "demo-x7k2p", "region": "us-east-1", "vpcID": "vpc-1", "publicZoneID": "Z1", "privateZoneID": "Z2", "localZoneID": "Z3"}`), 0o600))
		},
		create: func(u *user) []string { return u.createIAM() }, createPolicy: "create-iam",
		destroy: func(*user) []string { return destroyIAM() }, destroyPolicy: "destroy-iam",
	}.run(t)
}

func TestProcessThatIsKilledWhileItCreatesABastionIsResumed(t *testing.T) {
	trial{
		given: func(u *user) {
			u.try(emulator.Given(t.Context(), u.account, func() error {
				u.finish(createInfra("us-east-1a")...)
				return nil
			}))
		},
		create: func(*user) []string { return createBastion() }, createPolicy: "create-bastion",
		destroy: func(*user) []string { return destroyBastion() }, destroyPolicy: "destroy-bastion",
	}.run(t)
}

// account returns a new account with the trial's prerequisites, and the two commands.
func (r trial) account(t *testing.T) (u *user, create, destroy []string) {
	t.Helper()
	u = newUser(t)
	if r.given != nil {
		r.given(u)
	}
	as := func(command string) []string {
		text := policyFile(t, command)
		if base := addedTo[command]; base != "" {
			text = joined(t, policyFile(t, base), text)
		}
		return []string{"--role-arn", u.role("user-"+command, strings.ReplaceAll(text, "${INFRA_ID}", "demo-x7k2p"))}
	}
	return u, append(r.create(u), as(r.createPolicy)...), append(r.destroy(u), as(r.destroyPolicy)...)
}

// policyFile returns the policy of a command.
func policyFile(t *testing.T, command string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(policies, command+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// run kills the commands during each call that is interrupted. It is carried out afterwards: before, during or after the same command runs
// again.
func (r trial) run(t *testing.T) {
	t.Parallel()
	first, create, destroy := r.account(t)
	given := len(first.carriedOut())
	first.finish(create...)
	whole, creations := kinds(first.owned()), first.carriedOut()[given:]
	first.finish(destroy...)
	deletions := first.carriedOut()[given+len(creations):]

	each := func(name string, calls []string, test func(u *user, create, destroy []string, at call)) {
		selected := interrupted(calls, r.actions...)
		if len(selected) == 0 {
			t.Errorf("%s: nothing is interrupted of %v", name, calls)
		}
		for _, at := range selected {
			t.Run(fmt.Sprintf("%s %s %d", name, at.action, at.n), func(t *testing.T) {
				t.Parallel()
				u, create, destroy := r.account(t)
				test(u, create, destroy, at)
			})
		}
	}
	each("create", creations, func(u *user, create, destroy []string, at call) {
		await := u.kill(at, create...)
		u.finish(create...)
		await()
		if got := kinds(u.owned()); fmt.Sprint(got) != fmt.Sprint(whole) {
			u.t.Errorf("there are %v, want %v", got, whole)
		}
		u.finish(append(slices.Clone(create), "--plan")...)
		u.finish(destroy...)
		u.nothingIsLeft()
	})
	each("destroy after create", creations, func(u *user, create, destroy []string, at call) {
		await := u.kill(at, create...)
		u.finish(destroy...)
		await()
		u.nothingIsLeft()
	})
	each("destroy", deletions, func(u *user, create, destroy []string, at call) {
		u.finish(create...)
		await := u.kill(at, destroy...)
		u.finish(destroy...)
		await()
		u.nothingIsLeft()
	})
}

func (u *user) nothingIsLeft() {
	u.t.Helper()
	if left := u.owned(); len(left) > 0 {
		u.t.Errorf("left: %s", strings.Join(left, "\n"))
	}
}
