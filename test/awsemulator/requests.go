package awsemulator

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
)

// RefusedRequest is a request that the service models of AWS do not allow. The emulator has refused it, and keeps it
// until a test takes it.
type RefusedRequest struct {
	Account string `json:"account"`
	Role    string `json:"role"` // ARN of the role of the calling session; empty for a root
	Service string `json:"service"`
	Action  string `json:"action"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Name is service, action and code in one line, such as "iam.CreateRole ValidationError".
func (r RefusedRequest) Name() string { return r.Service + "." + r.Action + " " + r.Code }

func (r RefusedRequest) String() string {
	caller := r.Role
	if caller == "" {
		caller = "account " + r.Account
	}
	return fmt.Sprintf("AWS would refuse %s.%s of %s: %s: %s", r.Service, r.Action, caller, r.Code, r.Message)
}

// TakeRefused returns the requests of an account, or of all accounts, that the service models do not allow, and
// removes them from the emulator.
func (e *Emulator) TakeRefused(ctx context.Context, account string) ([]RefusedRequest, error) {
	text, err := e.control(ctx, http.MethodPost, "refused?account="+account, nil)
	if err != nil {
		return nil, err
	}
	var refused []RefusedRequest
	if err := json.Unmarshal(text, &refused); err != nil {
		return nil, fmt.Errorf("reading the refused requests of the emulator: %w", err)
	}
	return refused, nil
}

// TB is the part of testing.TB that this package needs. Programs import this package too, and package testing would
// give them its flags.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(f func())
}

// Account returns a new account. All its requests must be valid: at its end the test fails for each request that the
// service models do not allow, even if the program under test ignored the error. See ExpectRefused.
func (e *Emulator) Account(t TB) string {
	t.Helper()
	account := e.NewAccount()
	e.FailOnRefused(t, account)
	return account
}

// FailOnRefused is Account for an account that exists, or for all accounts if it is empty.
func (e *Emulator) FailOnRefused(t TB, account string) {
	t.Helper()
	t.Cleanup(func() {
		t.Helper()
		e.ExpectRefused(t, account)
	})
}

// ExpectRefused fails the test unless the service models did not allow exactly these requests of an account since the
// last call, named as by RefusedRequest.Name. The requests are removed.
func (e *Emulator) ExpectRefused(t TB, account string, want ...string) {
	t.Helper()
	refused, err := e.TakeRefused(context.Background(), account)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	for _, r := range refused {
		if i := slices.Index(want, r.Name()); i >= 0 {
			want = slices.Delete(slices.Clone(want), i, i+1)
			continue
		}
		t.Errorf("%s", r)
	}
	for _, name := range want {
		t.Errorf("AWS would have refused no request with %s", name)
	}
}

// Run runs the tests of a package that share this emulator, and returns their exit code. The package fails if a
// request that the service models do not allow belongs to no test: its account was not made by Account.
func (e *Emulator) Run(m interface{ Run() int }) int {
	code := m.Run()
	refused, err := e.TakeRefused(context.Background(), "")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	for _, r := range refused {
		fmt.Fprintln(os.Stderr, r)
		code = max(code, 1)
	}
	return code
}
