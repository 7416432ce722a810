package awscontract

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// contract is one thing that AWS does.
type contract struct {
	name  string
	steps func(*run)
	// rule is the rule of package awsrules that the case is about, if there is one.
	rule *awsrules.Rule
}

func TestContract(t *testing.T) {
	for _, b := range beds(t) {
		t.Run(b.name(), func(t *testing.T) {
			unused := differences(b.name())
			for _, c := range slices.Concat(networkCases, groupCases, balancerCases, serviceCases, endpointCases, connectionCases, recordCases, objectCases, identityCases, modelCases, ruleCases()) {
				t.Run(c.name, func(t *testing.T) {
					if c.rule != nil {
						if reason := b.lacks(c.rule); reason != "" {
							t.Skip(reason)
						}
					}
					known := unused[c.name]
					delete(unused, c.name)
					differs, broken := do(t, b, c)
					if broken {
						// It is unknown whether the call took effect, so its answers are no evidence.
						t.Log("the connection broke; once more")
						differs, _ = do(t, b, c)
					}
					if wrong := verdict(differs, known); wrong != "" {
						t.Error(wrong)
					}
					if len(differs) > 0 {
						t.Log(strings.Join(differs, "\n"))
					}
				})
			}
			for name := range unused {
				t.Errorf("the list has a difference for a case that does not exist: %q", name)
			}
		})
	}
}

// verdict returns the problem of a case's outcome, given its entry in the list.
func verdict(differs []string, known string) string {
	switch {
	case len(differs) > 0 && known == "":
		return "differs from AWS, and the list does not say so"
	case len(differs) == 0 && known != "":
		return "no longer differs; take it off the list: " + known
	}
	return ""
}

func TestVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		differs []string
		known   string
		good    bool
	}{
		"a bed that does what AWS does is good":         {nil, "", true},
		"a difference must be listed":                   {[]string{"a"}, "", false},
		"a listed difference is good":                   {[]string{"a"}, "moto", true},
		"a difference that is gone must leave the list": {nil, "moto", false},
	} {
		if got := verdict(c.differs, c.known); (got == "") != c.good {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func beds(t *testing.T) []bed {
	all := []bed{fakeBed{}}
	if e := emulatorBed(t); e != nil {
		all = append(all, e)
	}
	if os.Getenv("HYPERSHIFT_CONTRACT_AWS") == "1" {
		all = append(all, awsBed{})
	}
	return all
}

// run is a case on a bed. A case states its expectations with the methods below; a violated expectation is a difference, and the case goes
// on.
type run struct {
	*world
	t       testing.TB
	ctx     context.Context
	differs []string
	broken  bool // a call had no answer of AWS
	undo    []func()
	named   int
	invalid []string // requests that the service models have to refuse
}

// stop ends a case without a meaningful next step.
type stop struct{}

// do runs a case and returns the differences, and whether a connection broke.
func do(t *testing.T, b bed, c contract) (differs []string, broken bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 15*time.Minute)
	defer cancel()
	r := &run{world: b.world(t), t: t, ctx: ctx}
	defer func() {
		for _, undo := range slices.Backward(r.undo) {
			undo()
		}
	}()
	func() {
		defer func() {
			if p := recover(); p != nil && p != (stop{}) {
				panic(p)
			}
		}()
		c.steps(r)
	}()
	if r.takeRefused != nil {
		refused := r.takeRefused()
		slices.Sort(refused)
		slices.Sort(r.invalid)
		// A call is repeated after a broken connection.
		if got := slices.Compact(refused); !slices.Equal(got, r.invalid) {
			r.differ("requests that the service models refuse: got %v, want %v", got, r.invalid)
		}
	}
	return r.differs, r.broken
}

// throttledRetryer repeats only throttled calls.
type throttledRetryer struct{ pause func() time.Duration }

func (*throttledRetryer) IsErrorRetryable(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	_, throttled := retry.DefaultThrottleErrorCodes[api.ErrorCode()]
	return throttled
}

func (*throttledRetryer) MaxAttempts() int { return 30 }

func (t *throttledRetryer) RetryDelay(int, error) (time.Duration, error) { return t.pause(), nil }

func (*throttledRetryer) GetRetryToken(context.Context, error) (func(error) error, error) {
	return func(error) error { return nil }, nil
}

func (*throttledRetryer) GetInitialToken() func(error) error {
	return func(error) error { return nil }
}

// heard notes whether a call had an answer of AWS.
func (r *run) heard(err error) {
	var api smithy.APIError
	var answer *smithyhttp.ResponseError
	r.broken = r.broken || err != nil && !errors.As(err, &api) || errors.As(err, &answer) && answer.HTTPStatusCode() >= http.StatusInternalServerError
}

func (r *run) differ(format string, args ...any) {
	r.differs = append(r.differs, "  "+fmt.Sprintf(format, args...))
}

// later undoes something after the case, the last thing first.
func (r *run) later(undo func()) { r.undo = append(r.undo, undo) }

// ok wants success.
func (r *run) ok(what string, err error) {
	r.heard(err)
	if err != nil {
		r.differ("%s: %v", what, err)
		panic(stop{})
	}
}

// refused wants an error with one of the codes.
func (r *run) refused(what string, err error, codes ...string) {
	r.heard(err)
	var api smithy.APIError
	switch {
	case err == nil:
		r.differ("%s: accepted; AWS answers %s", what, strings.Join(codes, " or "))
	case !errors.As(err, &api):
		r.differ("%s: %v; AWS answers %s", what, err, strings.Join(codes, " or "))
	case !slices.Contains(codes, api.ErrorCode()):
		r.differ("%s: %s: %s; AWS answers %s", what, api.ErrorCode(), api.ErrorMessage(), strings.Join(codes, " or "))
	}
}

// refusedByModel wants the service model to refuse a request, given as "service.Operation Code". Other cases may make no
// such request.
func (r *run) refusedByModel(what string, err error, name string) {
	_, code, _ := strings.Cut(name, " ")
	r.refused(what, err, code)
	r.invalid = append(r.invalid, name)
}

// refusedBy wants the refusal of a rule: its code, and each part of its message that is the same for all names.
func (r *run) refusedBy(id, what string, err error) {
	rule := awsrules.Get(id)
	r.refused(what, err, rule.Code)
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != rule.Code {
		return
	}
	for _, part := range placeholder.Split(rule.Message, -1) {
		if !strings.Contains(api.ErrorMessage(), part) {
			r.differ("%s: %q does not contain %q", what, api.ErrorMessage(), part)
		}
	}
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// equal wants a value.
func (r *run) equal(what string, got, want any) {
	if !reflect.DeepEqual(got, want) {
		r.differ("%s: got %v; AWS has %v", what, got, want)
	}
}

// becomes waits for something to be so.
func (r *run) becomes(what string, so func() bool) {
	if !r.wait(r.ctx, so) {
		r.differ("%s: that never comes", what)
		panic(stop{})
	}
}

// unique makes names that no other case has, in accounts that cases share.
func (r *run) unique(prefix string) string {
	r.named++
	return fmt.Sprintf("%s-%x-%d", prefix, r.clock.Now().UnixNano()&0xffffffffff, r.named)
}
