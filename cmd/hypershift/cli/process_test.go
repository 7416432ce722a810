package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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

// process is the main function of the command line, with a shorter window of eventual consistency.
func process() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	env := operation.System()
	env.ConsistencyWindow = 3 * time.Second
	return cli.Run(ctx, "hypershift", os.Args[1:], env)
}

// start starts a command in a process of its own.
func (u *user) start(args ...string) *exec.Cmd {
	u.t.Helper()
	program, err := os.Executable()
	u.try(err)
	c := exec.CommandContext(u.t.Context(), program, args...)
	c.Env = append(os.Environ(), asProcess+"=1", "XDG_STATE_HOME="+u.env.StateHome)
	c.Stderr = &u.err
	u.try(c.Start())
	return c
}

// SIGKILL hits the process during a call, which is carried out afterwards.
func TestProcessThatIsKilledIsResumed(t *testing.T) {
	create := createInfra("us-east-1a")
	for action, node := range map[string]string{"CreateVpc": "vpc", "AllocateAddress": "address/us-east-1a", "CreateNatGateway": "nat-gateway/us-east-1a"} {
		t.Run(action, func(t *testing.T) {
			u := newUser(t)
			u.must(create...)
			whole := kinds(u.owned())
			u.must(destroyInfra()...)
			u.try(emulator.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.Latency, Action: action, Account: u.account, Seconds: 1}))
			running := u.start(create...)
			u.until(func() bool { return u.intends(node) })
			time.Sleep(100 * time.Millisecond) // the call follows the intent
			u.try(running.Process.Kill())
			if err := running.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the process ended before: %v\n%s", err, u.err.String())
			}
			if err := u.start(create...).Wait(); err != nil {
				t.Fatalf("the same command: %v\n%s", err, u.err.String())
			}
			if got := kinds(u.owned()); fmt.Sprint(got) != fmt.Sprint(whole) {
				t.Errorf("there are %v, want %v", got, whole)
			}
			u.must(destroyInfra()...)
			if left := u.owned(); len(left) > 0 {
				t.Errorf("left: %s", strings.Join(left, "\n"))
			}
		})
	}
}

// intends is true if the state has a creation of the node without its id.
func (u *user) intends(node string) bool {
	text, err := os.ReadFile(filepath.Join(u.stateDir(), "demo-x7k2p-infra-aws.json"))
	var state struct {
		Resources map[string]struct{ ID, Token string }
	}
	if err != nil || json.Unmarshal(text, &state) != nil {
		return false
	}
	r, ok := state.Resources[node]
	return ok && r.ID == "" && r.Token != ""
}

// until waits for a condition.
func (u *user) until(condition func() bool) {
	u.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			u.t.Fatalf("the process has not come so far:\n%s", u.err.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
}
