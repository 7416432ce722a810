package awsemulator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
)

// NewAccount gives an account id that nobody has used on this emulator. Tests call Account.
func (e *Emulator) NewAccount() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.next++
	return fmt.Sprintf("3%011d", e.next)
}

// Env gives the environment in which any AWS SDK talks to this emulator as the root of
// an account. AWS_ENDPOINT_URL_STS is there because the Go SDK's own web-identity
// provider does not look at AWS_ENDPOINT_URL.
func (e *Emulator) Env(account string) []string {
	return []string{
		"AWS_ENDPOINT_URL=" + e.URL,
		"AWS_ENDPOINT_URL_STS=" + e.URL,
		"AWS_ACCESS_KEY_ID=" + account,
		"AWS_SECRET_ACCESS_KEY=any",
		"AWS_REGION=" + e.region,
		"AWS_EC2_METADATA_DISABLED=true",
	}
}

// Config gives a configuration for SDK clients that act as the root of an account.
func (e *Emulator) Config(account string) aws.Config {
	return aws.Config{
		Region:       e.region,
		BaseEndpoint: aws.String(e.URL),
		Credentials:  credentials.NewStaticCredentialsProvider(account, "any", ""),
	}
}

// Call is one request that the emulator got.
type Call struct {
	Number       int               `json:"number"` // counted from the start
	Time         time.Time         `json:"time"`
	Account      string            `json:"account"`
	Role         string            `json:"role"`   // ARN of the role of the calling session; empty for a root
	Caller       string            `json:"caller"` // ARN of the session or the root
	Service      string            `json:"service"`
	Action       string            `json:"action"`
	Permissions  []string          `json:"permissions"` // the actions that a policy must allow for it
	Region       string            `json:"region"`
	Status       int               `json:"status"`
	Outcome      string            `json:"outcome"` // "ok" or an error code
	Fault        FaultKind         `json:"fault"`   // the fault that hit it
	Milliseconds float64           `json:"milliseconds"`
	Params       map[string]string `json:"params"`
}

// Name is service and action in one word, such as ec2.CreateVpcEndpoint.
func (c Call) Name() string { return c.Service + "." + c.Action }

// Calls gives all requests since the start or the last Reset or ForgetCalls.
func (e *Emulator) Calls(ctx context.Context) ([]Call, error) {
	return e.CallsSince(ctx, 0)
}

// CallsSince gives the requests from that number on.
func (e *Emulator) CallsSince(ctx context.Context, number int) ([]Call, error) {
	return e.calls(ctx, fmt.Sprintf("calls?since=%d", number))
}

// CallsOf gives the requests of one account.
func (e *Emulator) CallsOf(ctx context.Context, account string) ([]Call, error) {
	return e.calls(ctx, "calls?account="+account)
}

func (e *Emulator) calls(ctx context.Context, path string) ([]Call, error) {
	text, err := e.control(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	var calls []Call
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var call Call
		err := decoder.Decode(&call)
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the emulator's call log: %w", err)
		}
		calls = append(calls, call)
	}
}

// ForgetCalls empties the call log.
func (e *Emulator) ForgetCalls(ctx context.Context) error {
	return e.post(ctx, "reset?only=calls", nil)
}

// FaultKind says how a call fails.
type FaultKind string

// The kinds of faults. Each answers with the code that the called service itself uses.
const (
	Throttle    FaultKind = "throttle"    // RequestLimitExceeded, Throttling, SlowDown
	ServerError FaultKind = "serverError" // 500
	Unavailable FaultKind = "unavailable" // 503
	Reset       FaultKind = "reset"       // the connection breaks before anything has happened
	AnswerLost  FaultKind = "answerLost"  // the call is applied, then the connection breaks
	Expired     FaultKind = "expired"     // the credentials have expired
	Denied      FaultKind = "denied"      // the caller may not do this
	Error       FaultKind = "error"       // Code and Status of your choice
	Latency     FaultKind = "latency"     // only Seconds of delay
)

// Forever is the Count of a fault that lasts until it is removed.
const Forever = -1

// Fault lets calls fail. Empty fields match every call.
type Fault struct {
	Kind    FaultKind `json:"kind"`
	Service string    `json:"service,omitempty"` // signing name: ec2, elasticloadbalancing, route53, s3, sts, iam
	Action  string    `json:"action,omitempty"`
	Account string    `json:"account,omitempty"`
	Count   int       `json:"count"`          // how many calls it hits; 0 means 1
	Skip    int       `json:"skip,omitempty"` // how many matching calls pass first
	Seconds float64   `json:"seconds,omitempty"`
	Code    string    `json:"code,omitempty"`
	Status  int       `json:"status,omitempty"`
	Message string    `json:"message,omitempty"` // message of the error
}

// Fault adds faults; each call meets the first fault that matches it.
func (e *Emulator) Fault(ctx context.Context, faults ...Fault) error {
	for i := range faults {
		if faults[i].Count == 0 {
			faults[i].Count = 1
		}
		if faults[i].Status == 0 {
			faults[i].Status = http.StatusBadRequest
		}
	}
	return e.post(ctx, "faults", faults)
}

// FaultsLeft gives the faults that are for one account alone and still hit a call. A call that a fault delays has used it up when the
// delay begins.
func (e *Emulator) FaultsLeft(ctx context.Context, account string) ([]Fault, error) {
	text, err := e.control(ctx, http.MethodGet, "faults?account="+account, nil)
	if err != nil {
		return nil, err
	}
	var faults []Fault
	if err := json.Unmarshal(text, &faults); err != nil {
		return nil, fmt.Errorf("reading the faults of the emulator: %w", err)
	}
	return faults, nil
}

// Forgive removes the faults that are for one account alone.
func (e *Emulator) Forgive(ctx context.Context, account string) error {
	return e.post(ctx, "forgive?account="+account, nil)
}

// ClearFaults removes all faults.
func (e *Emulator) ClearFaults(ctx context.Context) error {
	return e.post(ctx, "reset?only=faults", nil)
}

// Delays is how long things take. The names are endpoint, loadBalancer, instance,
// natGateway and resourceShare with .create or .delete, route53.change, route53.processing:
// how long a change of records excludes others, s3.publicAccess: how long the former public
// access block of a bucket holds for policies, visibility: how
// long a new EC2 resource is not found by Describe calls yet, and iam.visibility: how long
// a new role is no principal and a new instance profile is not found by EC2 yet.
type Delays map[string]time.Duration

// SetDelays changes delays; they hold at once, for everything.
func (e *Emulator) SetDelays(ctx context.Context, delays Delays) error {
	seconds := map[string]float64{}
	for name, delay := range delays {
		seconds[name] = delay.Seconds()
	}
	return e.post(ctx, "delays", seconds)
}

// SetPageSize makes every list of an account come in pages of n items at most; 0 is no limit. AWS may return fewer items
// than requested at any time, so a program that reads only one page must fail.
func (e *Emulator) SetPageSize(ctx context.Context, account string, n int) error {
	return e.post(ctx, "pages", map[string]any{"account": account, "size": n})
}

// Enforce enables or disables a rule of package awsrules, for all accounts.
func (e *Emulator) Enforce(ctx context.Context, rule string, enforce bool) error {
	return e.post(ctx, "rules", map[string]bool{rule: enforce})
}

// Unlimit lifts a limit of requests for one account, for a test that runs a command more often in a minute than a user does in a day.
func (e *Emulator) Unlimit(ctx context.Context, account, rule string) error {
	return e.post(ctx, "unlimited", map[string]string{"account": account, "rule": rule})
}

// RaiseQuota requests an increase of a quota, such as vpc L-F678F1CE, which the emulator grants at once.
func (e *Emulator) RaiseQuota(ctx context.Context, account, service, code string, value float64) error {
	_, err := servicequotas.NewFromConfig(e.Config(account)).RequestServiceQuotaIncrease(ctx, &servicequotas.RequestServiceQuotaIncreaseInput{
		ServiceCode: aws.String(service), QuotaCode: aws.String(code), DesiredValue: aws.Float64(value)})
	if err != nil {
		return fmt.Errorf("raising quota %s of account %s: %w", code, account, err)
	}
	return nil
}

// AddPlacements lets an account have placement groups, by their names, and capacity reservations, by their ids.
func (e *Emulator) AddPlacements(ctx context.Context, account string, placements ...string) error {
	return e.post(ctx, "placements", map[string][]string{account: placements})
}

// Hold keeps an endpoint, a NAT gateway or (by ARN) a load balancer in a state such as
// failed or rejected; the empty state lets it go on.
func (e *Emulator) Hold(ctx context.Context, id, state string) error {
	return e.post(ctx, "states", map[string]string{"id": id, "state": state})
}

// SetZoneIDs sets the zone ids of an account's zone names. Without it each account uses its own order, the same in each run.
func (e *Emulator) SetZoneIDs(ctx context.Context, account string, idByName map[string]string) error {
	return e.post(ctx, "zones", map[string]map[string]string{account: idByName})
}

// Organize puts accounts into an organization, within which subnets can be shared. Unless
// its sharing is enabled, an account has to accept an invitation to each share.
func (e *Emulator) Organize(ctx context.Context, sharing bool, accounts ...string) error {
	return e.post(ctx, "organizations", map[string]any{"accounts": accounts, "sharing": sharing})
}

// MapIssuer serves the documents of an issuer with a host name of its own from a bucket
// (or bucket/prefix). Issuers that are S3 URLs need no mapping.
func (e *Emulator) MapIssuer(ctx context.Context, host, bucket string) error {
	return e.post(ctx, "issuers", map[string]string{host: bucket})
}

// KeepKeys sets how long STS keeps the public keys of an issuer before it reads them again. The default is a minute.
func (e *Emulator) KeepKeys(ctx context.Context, issuer string, lifetime time.Duration) error {
	return e.post(ctx, "keys", map[string]float64{issuer: lifetime.Seconds()})
}

// Resource is something that an account owns.
type Resource struct {
	Kind  string `json:"kind"` // vpc-endpoint, endpoint-service, security-group, record, load-balancer, ...
	ID    string `json:"id"`
	Name  string `json:"name"`
	State string `json:"state"`
}

// String is the resource for a person.
func (r Resource) String() string {
	return strings.Join(slices.DeleteFunc([]string{r.Kind, r.ID, r.Name, r.State}, func(s string) bool { return s == "" }), " ")
}

// Resources returns everything that an account owns, except for the resources of a new account.
func (e *Emulator) Resources(ctx context.Context, account string) ([]Resource, error) {
	text, err := e.control(ctx, http.MethodGet, "accounts?account="+account, nil)
	if err != nil {
		return nil, err
	}
	var accounts map[string][]Resource
	if err := json.Unmarshal(text, &accounts); err != nil {
		return nil, fmt.Errorf("reading what account %s owns: %w", account, err)
	}
	return accounts[account], nil
}

// Leftovers returns the resources that an account owns beyond its seed, in words.
func (e *Emulator) Leftovers(ctx context.Context, account string) ([]string, error) {
	resources, err := e.Resources(ctx, account)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var left []string
	for _, r := range resources {
		if !e.given[key(account, r)] {
			left = append(left, r.String())
		}
	}
	return left, nil
}

// Given runs a function that prepares an account; its resources are no leftovers.
func (e *Emulator) Given(ctx context.Context, account string, prepare func() error) error {
	before, err := e.Resources(ctx, account)
	if err != nil {
		return err
	}
	if err := prepare(); err != nil {
		return err
	}
	after, err := e.Resources(ctx, account)
	if err != nil {
		return err
	}
	had := map[string]bool{}
	for _, r := range before {
		had[key(account, r)] = true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range after {
		if !had[key(account, r)] {
			e.given[key(account, r)] = true
		}
	}
	return nil
}

func key(account string, r Resource) string { return account + "/" + r.Kind + "/" + r.ID }

// Reset forgets everything: resources, sessions, faults, delays, calls, seeds.
func (e *Emulator) Reset(ctx context.Context) error {
	e.mu.Lock()
	clear(e.given)
	e.mu.Unlock()
	return e.post(ctx, "reset", nil)
}

// SetConsole names the file with the console output of an instance.
func (e *Emulator) SetConsole(ctx context.Context, instance, file string) error {
	return e.post(ctx, "consoles", map[string]string{instance: file})
}

func (e *Emulator) post(ctx context.Context, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("writing a request for the AWS emulator: %w", err)
	}
	_, err = e.control(ctx, http.MethodPost, path, text)
	return err
}

func (e *Emulator) control(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, e.URL+"/emulator/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking the AWS emulator for %s: %w", path, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the AWS emulator for %s: %w", path, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("asking the AWS emulator for %s: %w", path, err)
	}
	return text, nil
}
