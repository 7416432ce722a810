package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/smithy-go/middleware"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/cmd/hypershift/cli"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/clusteriam"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

var emulator *awsemulator.Emulator

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) != "" {
		os.Exit(process())
	}
	flag.Parse()
	if err := manyAtOnce(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(func() int {
		var err error
		if emulator, err = awsemulator.Start(context.Background(), awsemulator.Options{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer emulator.Stop()
		// Each user has a key and a kubeconfig of his own.
		for _, variable := range append(emulator.Env("none"), "KUBECONFIG=/nonexistent") {
			name, value, _ := strings.Cut(variable, "=")
			if err := os.Setenv(name, value); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		// Trials count the calls of a command, which vary while AWS does not list created resources. Package awstrial tests with the
		// delays.
		if err := emulator.SetDelays(context.Background(), awsemulator.Delays{"visibility": 0, "iam.visibility": 0}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return emulator.Run(m)
	}())
}

// manyAtOnce runs at least six tests for each core at once, unless -parallel is 1: the tests mostly wait for AWS.
func manyAtOnce() error {
	parallel := flag.Lookup("test.parallel")
	if n, err := strconv.Atoi(parallel.Value.String()); err != nil || n == 1 {
		return err
	}
	return parallel.Value.Set(strconv.Itoa(6 * runtime.GOMAXPROCS(0)))
}

// settle waits until AWS lists the resources that the test itself has created.
func (u *user) settle() { time.Sleep(300 * time.Millisecond) }

const domain = "clusters.example.com" // Route 53 refuses a zone of example.com itself

var errDied = errors.New("the process died")

// user is a user of the command line with an account that has only a public zone.
type user struct {
	t       *testing.T
	account string
	// vpcOwner is the account of a shared VPC, if there is one.
	vpcOwner string
	// kubeconfig is the management cluster's kubeconfig; empty without one.
	kubeconfig string
	env        operation.Environment
	out        bytes.Buffer
	err        synchronized

	mu     sync.Mutex
	writes []string
	reads  int
	dieAt  call // the write after which the process has died; the zero value: it lives
	dead   bool
	// die ends the process.
	die context.CancelFunc
	// intercept sees each call.
	intercept func(operation string) error
}

type synchronized struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (s *synchronized) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffer.Write(p)
}

func (s *synchronized) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buffer.String()
}

// newUser returns a user with an account of his own. Users of several tests may run commands at the same time.
func newUser(t *testing.T) *user {
	t.Helper()
	u := &user{t: t, account: emulator.Account(t)}
	u.env = operation.Environment{
		AccessKey: &awsx.AccessKey{ID: u.account, Secret: "any"},
		In:        strings.NewReader(""), Out: &u.out, Err: &u.err, Clock: clock.RealClock{}, StateHome: t.TempDir(),
		ConsistencyWindow: 500 * time.Millisecond, Timeout: time.Minute, Middleware: []func(*middleware.Stack) error{u.observe},
	}
	err := emulator.Given(t.Context(), u.account, func() error {
		_, err := route53.NewFromConfig(emulator.Config(u.account)).CreateHostedZone(t.Context(), &route53.CreateHostedZoneInput{
			Name: aws.String(domain), CallerReference: aws.String(u.account),
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func isWrite(operation string) bool {
	for _, prefix := range []string{"Describe", "List", "Get", "Assume", "Simulate"} {
		if strings.HasPrefix(operation, prefix) {
			return false
		}
	}
	return true
}

// isDryRun is true for a call of EC2 that only checks permissions.
func isDryRun(parameters any) bool {
	v := reflect.Indirect(reflect.ValueOf(parameters))
	if v.Kind() != reflect.Struct {
		return false
	}
	field := v.FieldByName("DryRun")
	if !field.IsValid() {
		return false
	}
	dry, ok := field.Interface().(*bool)
	return ok && dry != nil && *dry
}

// observe counts the calls, and lets the process die: its calls fail, and its disk cannot be written.
func (u *user) observe(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("observe",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			operation := middleware.GetOperationName(ctx)
			u.mu.Lock()
			dead := u.dead
			u.mu.Unlock()
			if dead {
				return middleware.InitializeOutput{}, middleware.Metadata{}, errDied
			}
			if u.intercept != nil {
				if err := u.intercept(operation); err != nil {
					return middleware.InitializeOutput{}, middleware.Metadata{}, err
				}
			}
			if !isWrite(operation) || isDryRun(in.Parameters) {
				u.mu.Lock()
				u.reads++
				u.mu.Unlock()
				return next.HandleInitialize(ctx, in)
			}
			out, metadata, err := next.HandleInitialize(ctx, in)
			u.mu.Lock()
			defer u.mu.Unlock()
			if u.dead {
				return out, metadata, errDied
			}
			u.writes = append(u.writes, operation)
			if u.dieAt.isAmong(u.writes) {
				u.dead = true
				u.die()
				if err := os.Rename(u.stateDir(), u.stateDir()+".frozen"); err != nil {
					u.t.Error(err)
				}
				return out, metadata, errDied
			}
			return out, metadata, err
		}), middleware.Before)
}

func (u *user) stateDir() string { return filepath.Join(u.env.StateHome, "hypershift") }

// resurrect gives the next process a disk.
func (u *user) resurrect() {
	u.dieAt = call{}
	if !u.dead {
		return
	}
	if err := errors.Join(os.RemoveAll(u.stateDir()), os.Rename(u.stateDir()+".frozen", u.stateDir())); err != nil {
		u.t.Fatal(err)
	}
	u.dead = false
}

// run runs a command and returns its exit code.
func (u *user) run(args ...string) int {
	u.t.Helper()
	u.writes, u.reads = nil, 0
	u.out.Reset()
	u.err.mu.Lock()
	u.err.buffer.Reset()
	u.err.mu.Unlock()
	ctx, die := context.WithCancel(u.t.Context())
	defer die()
	u.die = die
	if c, _, err := cli.New("hypershift", u.env).Find(args); u.kubeconfig != "" && err == nil && c.Flags().Lookup("kubeconfig") != nil {
		args = append(slices.Clone(args), "--kubeconfig", u.kubeconfig)
	}
	return cli.Run(ctx, "hypershift", args, u.env)
}

func (u *user) must(args ...string) {
	u.t.Helper()
	if code := u.run(args...); code != cli.Done {
		u.t.Fatalf("hypershift %s: exit code %d\n%s%s", strings.Join(args, " "), code, u.err.String(), u.out.String())
	}
}

func (u *user) made() infra.Output {
	u.t.Helper()
	var made infra.Output
	text, err := os.ReadFile(u.infraJSON())
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		u.t.Fatal(err)
	}
	return made
}

// try ends the test at an error.
func (u *user) try(errs ...error) {
	u.t.Helper()
	for _, err := range errs {
		if err != nil {
			u.t.Fatal(err)
		}
	}
}

// owned returns the user's resources in both accounts.
func (u *user) owned() []string {
	u.t.Helper()
	left := u.ownedBy(u.account)
	if u.vpcOwner != "" {
		left = append(left, u.ownedBy(u.vpcOwner)...)
	}
	return left
}

func (u *user) ownedBy(account string) []string {
	u.t.Helper()
	left, err := emulator.Leftovers(u.t.Context(), account)
	u.try(err)
	return left
}

const threeZones = "us-east-1a,us-east-1b,us-east-1c"

func createInfra(zones string, more ...string) []string {
	return append([]string{"create", "infra", "aws", "--infra-id", "demo-x7k2p", "--name", "demo", "--base-domain", domain, "--zones", zones}, more...)
}

func (u *user) createIAM(more ...string) []string {
	return append([]string{"create", "iam", "aws", "--infra-id", "demo-x7k2p", "--infra-json", u.infraJSON(),
		"--oidc-storage-provider-s3-bucket-name", "documents"}, more...)
}

func (u *user) infraJSON() string { return filepath.Join(u.env.StateHome, "infra.json") }

func destroyInfra(more ...string) []string {
	return append([]string{"destroy", "infra", "aws", "--infra-id", "demo-x7k2p", "--name", "demo", "--base-domain", domain, "--yes"}, more...)
}

func destroyIAM(more ...string) []string {
	return append([]string{"destroy", "iam", "aws", "--infra-id", "demo-x7k2p", "--yes"}, more...)
}

// kinds counts resources by their kind.
func kinds(left []string) map[string]int {
	count := map[string]int{}
	for _, l := range left {
		kind, _, _ := strings.Cut(l, " ")
		count[kind]++
	}
	return count
}

func TestThreeZonesAreCreatedUnchangedByASecondRunAndDeletedWithoutLeftovers(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must(createInfra(threeZones, "--output-file", u.infraJSON(), "--additional-tags", "team=a")...)
	u.must(u.createIAM("--kms-key-arn", "arn:aws:kms:us-east-1:111111111111:key/k", "--auto-node")...)
	var roles clusteriam.Output
	if err := json.Unmarshal(u.out.Bytes(), &roles); err != nil {
		t.Fatal(err)
	}
	for _, arn := range []string{roles.Roles.ControlPlaneOperatorARN, roles.Roles.StorageARN, roles.KMSProviderRoleARN, roles.KarpenterRoleARN} {
		if !strings.Contains(arn, ":iam::"+u.account+":role/demo-x7k2p-") {
			t.Errorf("ARN %q", arn)
		}
	}
	var made infra.Output
	text, err := os.ReadFile(u.infraJSON())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	if len(made.Zones) != 3 || made.Zones[2].SubnetID == "" || made.VPCID == "" || made.PublicZoneID == "" || made.PrivateZoneID == "" || made.LocalZoneID == "" {
		t.Errorf("result %+v", made)
	}

	network, err := emulator.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ways := map[awsemulator.Internet]int{}
	for _, s := range network.Subnets {
		if s.VPC == made.VPCID {
			ways[s.Internet]++
		}
	}
	if ways[awsemulator.NAT] != 3 || ways[awsemulator.Gateway] != 3 {
		t.Errorf("ways to the internet: %v", ways)
	}
	want := map[string]int{
		"vpc": 1, "dhcp-options": 1, "internet-gateway": 1, "subnet": 6, "address": 3, "nat-gateway": 3, "vpc-endpoint": 1,
		"hosted-zone": 2, "oidc-provider": 1, "role": 9, "instance-profile": 1,
	}
	got := kinds(u.owned())
	for kind, n := range want {
		if got[kind] != n {
			t.Errorf("%d of kind %s, want %d", got[kind], kind, n)
		}
	}

	for _, args := range [][]string{
		createInfra(threeZones, "--output-file", u.infraJSON(), "--additional-tags", "team=a"),
		createInfra(threeZones, "--plan", "--additional-tags", "team=a"),
		u.createIAM("--kms-key-arn", "arn:aws:kms:us-east-1:111111111111:key/k", "--auto-node"),
	} {
		u.must(args...)
		if len(u.writes) > 0 {
			t.Errorf("%s has written: %v", strings.Join(args[:3], " "), u.writes)
		}
	}
	// Without the state, resources are found by their tags.
	if err := os.RemoveAll(u.stateDir()); err != nil {
		t.Fatal(err)
	}
	u.must(createInfra(threeZones, "--additional-tags", "team=a")...)
	if len(u.writes) > 0 {
		t.Errorf("without its state the command has written: %v", u.writes)
	}

	if code := u.run(destroyInfra("--plan")...); code != cli.Changes || len(u.writes) > 0 {
		t.Errorf("destroy --plan: exit code %d, writes %v", code, u.writes)
	}
	// The interfaces of the NAT gateways belong to AWS.
	if text := u.out.String() + u.err.String(); strings.Contains(text, "Network interface") {
		t.Errorf("destroy --plan lists interfaces as left behind:\n%s", text)
	}
	u.must(destroyIAM()...)
	u.must(destroyInfra()...)
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
	u.must(destroyInfra()...)
}

func TestOtherLayouts(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for name, c := range map[string]struct {
		flags []string
		want  map[string]int
	}{
		"one NAT gateway for three zones":       {[]string{"--single-nat-gateway"}, map[string]int{"nat-gateway": 1, "address": 1, "subnet": 6}},
		"public subnets only":                   {[]string{"--public-only"}, map[string]int{"nat-gateway": 0, "address": 0, "subnet": 3}},
		"another network, and no prefix in DNS": {[]string{"--vpc-cidr", "10.9.0.0/16", "--base-domain-prefix", "none"}, map[string]int{"subnet": 6}},
	} {
		t.Run(name, func(t *testing.T) {
			u.must(createInfra(threeZones, c.flags...)...)
			got := kinds(u.owned())
			for kind, n := range c.want {
				if got[kind] != n {
					t.Errorf("%d of kind %s, want %d", got[kind], kind, n)
				}
			}
			u.must(createInfra(threeZones, c.flags...)...)
			if len(u.writes) > 0 {
				t.Errorf("the second run has written: %v", u.writes)
			}
			u.must("destroy", "infra", "aws", "--infra-id", "demo-x7k2p", "--yes")
			if left := u.owned(); len(left) > 0 {
				t.Errorf("left: %s", strings.Join(left, "\n"))
			}
		})
	}
}

// runsOften lifts limits of requests: the test runs a command more often in a minute than a user does in a day.
func (u *user) runsOften() {
	u.t.Helper()
	for _, rule := range []string{"route53-requests", "ec2-requests-endpoints"} {
		u.try(emulator.Unlimit(u.t.Context(), u.account, rule))
	}
}

// The process dies after the first writing call of each action. The same command finishes, with one resource of each, and deletion leaves
// no resource. The deletion dies, too.
func TestDeathAfterEachActionIsResumed(t *testing.T) {
	t.Parallel()
	documents := func(u *user) string { return "documents-" + u.account }
	for name, commands := range map[string]struct{ create, destroy func(u *user) []string }{
		"infra": {
			func(*user) []string { return createInfra("us-east-1a") },
			func(*user) []string { return destroyInfra() },
		},
		"infra with a proxy": {
			func(*user) []string { return createInfra("us-east-1a", "--enable-secure-proxy") },
			func(*user) []string { return destroyInfra() },
		},
		"infra with a shared VPC": {
			func(u *user) []string {
				return createInfra("us-east-1a", append(u.sharesVPC(false), "--worker-security-group", "--public-only")...)
			},
			func(u *user) []string { return destroyInfra(u.sharedVPCFlags()...) },
		},
		"iam": {
			func(u *user) []string {
				return u.createIAM("--vpc-id", "vpc-1", "--public-zone-id", "Z1", "--private-zone-id", "Z2", "--local-zone-id", "Z3")
			},
			func(*user) []string { return destroyIAM() },
		},
		"bastion": {
			func(u *user) []string {
				u.givenNetwork()
				return createBastion()
			},
			func(*user) []string { return destroyBastion() },
		},
		"oidc-bucket": {
			func(u *user) []string { return createBucket(documents(u)) },
			func(u *user) []string { return destroyBucket(documents(u)) },
		},
		"cli-role": {
			func(*user) []string { return createCLIRole() },
			func(*user) []string { return destroyCLIRole() },
		},
		"operator-roles": {
			func(u *user) []string { return createOperatorRoles(u.issuer(), documents(u)) },
			func(*user) []string { return destroyOperatorRoles() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := func(t *testing.T) (u *user, create, destroy []string) {
				u = newUser(t)
				u.try(os.WriteFile(u.infraJSON(), []byte(`{"infraID": "demo-x7k2p"}`), 0o600))
				return u, commands.create(u), commands.destroy(u)
			}
			u, create, destroy := account(t)
			u.must(create...)
			whole, creations := kinds(u.owned()), interrupted(u.writes)
			u.must(destroy...)
			deletions := interrupted(u.writes)
			for i := range max(len(creations), len(deletions)) {
				creation, deletion := creations[i%len(creations)], deletions[i%len(deletions)]
				t.Run(fmt.Sprintf("%s %d, %s %d", creation.action, creation.n, deletion.action, deletion.n), func(t *testing.T) {
					t.Parallel()
					u, create, destroy := account(t)
					// dies is false if the command ended before the call: the first one has repeated calls that AWS refused for a moment.
					dies := func() bool {
						u.dieAt = creation
						code, dead := u.run(create...), u.dead
						u.resurrect()
						if dead && code != cli.Interrupted || !dead && (code != cli.Done || creation.n == 1 || creation.isAmong(u.writes)) {
							t.Fatalf("exit code %d after the calls %v", code, u.writes)
						}
						return dead
					}
					// The deletion of resources that a dead command left behind.
					died := dies()
					u.must(destroy...)
					if !died {
						return
					}
					u.nothingIsLeft()
					dies()
					u.must(create...)
					if got := kinds(u.owned()); fmt.Sprint(got) != fmt.Sprint(whole) {
						t.Fatalf("there are %v, want %v", got, whole)
					}
					u.dieAt = deletion
					u.run(destroy...)
					u.resurrect()
					u.must(destroy...)
					u.nothingIsLeft()
				})
			}
		})
	}
}

// again runs a command like a user with throttled calls: the same command continues.
func (u *user) again(args ...string) {
	u.t.Helper()
	for range 5 {
		if u.run(args...) == cli.Done {
			return
		}
	}
	u.must(args...)
}

// Half of all writing calls are throttled, and an eighth of the answers is lost after the call was carried out.
func TestHalfOfTheCallsThrottledAndLostAnswers(t *testing.T) {
	t.Parallel()
	seeds := uint64(1)
	if everyCall {
		seeds = 3
	}
	u := newUser(t)
	u.runsOften()
	zones := "us-east-1a,us-east-1b"
	u.must(createInfra(zones, "--output-file", u.infraJSON())...)
	u.must(u.createIAM()...)
	whole := kinds(u.owned())
	u.must(destroyIAM()...)
	u.must(destroyInfra()...)
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 1))
		var mu sync.Mutex
		lost := map[string]int{}
		u.intercept = func(operation string) error {
			if !isWrite(operation) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			fault := awsemulator.Fault{Kind: awsemulator.Throttle, Action: operation, Account: u.account}
			switch n := random.IntN(8); {
			case n == 7:
				fault.Kind = awsemulator.AnswerLost
				lost[operation[:6]]++
			case n > 3:
				return nil
			}
			return emulator.Fault(context.Background(), fault)
		}
		u.again(createInfra(zones, "--output-file", u.infraJSON())...)
		u.again(u.createIAM()...)
		if got := kinds(u.owned()); fmt.Sprint(got) != fmt.Sprint(whole) {
			t.Errorf("seed %d: there are %v, want %v", seed, got, whole)
		}
		u.again(destroyIAM()...)
		u.again(destroyInfra()...)
		if lost["Create"] == 0 || lost["Delete"] == 0 {
			t.Errorf("seed %d: lost answers %v", seed, lost)
		}
		u.intercept = nil
		if err := emulator.Forgive(t.Context(), u.account); err != nil {
			t.Fatal(err)
		}
		if left := u.owned(); len(left) > 0 {
			t.Errorf("seed %d leaves: %s", seed, strings.Join(left, "\n"))
		}
	}
}

func TestDriftIsShownAndRepaired(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must(createInfra("us-east-1a", "--output-file", u.infraJSON())...)
	u.must(u.createIAM()...)
	cfg := emulator.Config(u.account)
	e, i := ec2.NewFromConfig(cfg), awsiam.NewFromConfig(cfg)
	var made infra.Output
	text, err := os.ReadFile(u.infraJSON())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	_, err = e.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{made.Zones[0].SubnetID}, Tags: []ec2types.Tag{{Key: aws.String("kubernetes.io/role/internal-elb")}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.ModifyVpcAttribute(t.Context(), &ec2.ModifyVpcAttributeInput{VpcId: aws.String(made.VPCID), EnableDnsHostnames: &ec2types.AttributeBooleanValue{Value: aws.Bool(false)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = i.UpdateAssumeRolePolicy(t.Context(), &awsiam.UpdateAssumeRolePolicyInput{RoleName: aws.String("demo-x7k2p-node-pool"),
		PolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"AWS":"arn:aws:iam::1:root"}}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	if code := u.run(createInfra("us-east-1a", "--plan")...); code != cli.Changes {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{
		"~ Subnet demo-x7k2p-private-us-east-1a (" + made.Zones[0].SubnetID + ")", "tag kubernetes.io/role/internal-elb: (none) -> 1",
		"~ VPC attribute enableDnsHostnames", "value: false -> true", "0 to create, 2 to update, 0 to delete",
	} {
		if !strings.Contains(u.out.String(), want) {
			t.Errorf("the plan does not contain %q:\n%s", want, u.out.String())
		}
	}
	if len(u.writes) > 0 {
		t.Errorf("the plan has written: %v", u.writes)
	}
	checkExample(t, "hypershift "+strings.Join(createInfra("us-east-1a", "--plan"), " "), u.out.String())
	u.must(createInfra("us-east-1a")...)
	if !slices.Equal(u.writes, []string{"CreateTags", "ModifyVpcAttribute"}) && !slices.Equal(u.writes, []string{"ModifyVpcAttribute", "CreateTags"}) {
		t.Errorf("repaired by %v", u.writes)
	}
	u.must(u.createIAM()...)
	if !slices.Equal(u.writes, []string{"UpdateAssumeRolePolicy"}) {
		t.Errorf("repaired by %v", u.writes)
	}
}

// The gateway endpoint includes the route table of the second zone since its change.
func TestZoneThatWasAddedLaterIsDeleted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must(createInfra("us-east-1a")...)
	u.must(createInfra("us-east-1a,us-east-1b")...)
	u.must(destroyInfra()...)
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
}

func TestResourcesOfOthersAreNeitherAdoptedNorDeleted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	if err := os.WriteFile(u.infraJSON(), []byte(`{"infraID": "demo-x7k2p", "vpcID": "vpc-1", "publicZoneID": "Z1", "privateZoneID": "Z2", "localZoneID": "Z3"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := emulator.Role(t.Context(), u.account, "demo-x7k2p-worker-role", awsemulator.TrustRole("arn:aws:iam::1:root")); err != nil {
		t.Fatal(err)
	}
	if code := u.run(u.createIAM()...); code != cli.Failed {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(u.err.String(), "role demo-x7k2p-worker-role exists and does not carry the tag kubernetes.io/cluster/demo-x7k2p=owned") || len(u.writes) > 0 {
		t.Errorf("writes %v\n%s", u.writes, u.err.String())
	}
	if code := u.run(destroyIAM()...); code != cli.Remaining || len(u.writes) > 0 {
		t.Errorf("destroy: exit code %d, writes %v", code, u.writes)
	}
}

func TestWhatTheHostedClusterLeftBehindIsDeletedOrListed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must(createInfra("us-east-1a", "--output-file", u.infraJSON())...)
	var made infra.Output
	text, err := os.ReadFile(u.infraJSON())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatal(err)
	}
	e := ec2.NewFromConfig(emulator.Config(u.account))
	tags := func(kind ec2types.ResourceType) []ec2types.TagSpecification {
		return []ec2types.TagSpecification{{ResourceType: kind, Tags: []ec2types.Tag{{Key: aws.String("kubernetes.io/cluster/demo-x7k2p"), Value: aws.String("owned")}}}}
	}
	var groups []string
	for _, name := range []string{"one", "two"} {
		g, err := e.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: aws.String(name), Description: aws.String(name), VpcId: aws.String(made.VPCID), TagSpecifications: tags(ec2types.ResourceTypeSecurityGroup)})
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, *g.GroupId)
	}
	for i, g := range groups {
		_, err := e.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: aws.String(g), IpPermissions: []ec2types.IpPermission{
			{IpProtocol: aws.String("-1"), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String(groups[1-i])}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.RunInstances(t.Context(), &ec2.RunInstancesInput{ImageId: aws.String(awsemulator.ImageAMD64), MinCount: aws.Int32(1), MaxCount: aws.Int32(1),
		SubnetId: aws.String(made.Zones[0].SubnetID), SecurityGroupIds: groups, InstanceType: "m5.large", TagSpecifications: tags(ec2types.ResourceTypeInstance)}); err != nil {
		t.Fatal(err)
	}
	volume, err := e.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-east-1a"), Size: aws.Int32(1), TagSpecifications: tags(ec2types.ResourceTypeVolume)})
	if err != nil {
		t.Fatal(err)
	}
	if code := u.run(destroyInfra()...); code != cli.Remaining {
		t.Errorf("exit code %d\n%s", code, u.err.String())
	}
	if !strings.Contains(u.err.String(), "Volume "+*volume.VolumeId+": left behind by the hosted cluster") {
		t.Errorf("the volume is not listed:\n%s", u.err.String())
	}
	left := slices.DeleteFunc(u.owned(), func(s string) bool { return strings.HasPrefix(s, "volume ") })
	if len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
}

func TestErrorsTellWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		fault awsemulator.Fault
		args  []string
		code  int
		want  string
	}{
		"a call is denied": {awsemulator.Fault{Kind: awsemulator.Denied, Action: "CreateVpc"}, createInfra("us-east-1a"), cli.Failed, "add the permission"},
		"a quota is exhausted": {awsemulator.Fault{Kind: awsemulator.Error, Action: "AllocateAddress", Code: "AddressLimitExceeded", Message: "too many"},
			createInfra("us-east-1a"), cli.Failed, "raise it in Service Quotas"},
		"credentials have expired":           {awsemulator.Fault{Kind: awsemulator.Expired, Action: "GetCallerIdentity"}, createInfra("us-east-1a"), cli.Failed, "check that they have not expired"},
		"a zone is of another region":        {awsemulator.Fault{}, createInfra("eu-west-1a", "--region", "us-east-1"), cli.Usage, "is neither a zone of the region us-east-1 nor the id of a zone"},
		"a zone does not exist":              {awsemulator.Fault{}, createInfra("us-east-1z"), cli.Failed, "does not exist in region us-east-1 for this account"},
		"the base domain has no public zone": {awsemulator.Fault{}, append(createInfra("us-east-1a"), "--base-domain", "other.org"), cli.Failed, "the public hosted zone of --base-domain other.org does not exist"},
		"calls are throttled for ever": {awsemulator.Fault{Kind: awsemulator.Throttle, Action: "CreateVpc", Count: awsemulator.Forever},
			createInfra("us-east-1a"), cli.Failed, "AWS limits the calls of this account; run the same command again"},
		"AWS does not answer": {awsemulator.Fault{Kind: awsemulator.Reset, Action: "CreateInternetGateway", Count: awsemulator.Forever},
			createInfra("us-east-1a"), cli.Failed, "AWS did not answer"},
		"the region is not enabled": {awsemulator.Fault{Kind: awsemulator.Error, Action: "DescribeVpcs", Code: "AuthFailure", Message: "not able to validate the credentials", Count: awsemulator.Forever},
			createInfra("us-east-1a"), cli.Failed, "check --region, and whether the region is enabled for the account"},
		"the service is not enabled": {awsemulator.Fault{Kind: awsemulator.Error, Action: "CreateVpc", Code: "OptInRequired", Message: "no"},
			createInfra("us-east-1a"), cli.Failed, "not enabled for the account"},
		"a name exists": {awsemulator.Fault{Kind: awsemulator.Error, Action: "CreateHostedZone", Code: "ConflictingDomainExists", Message: "no", Count: awsemulator.Forever},
			createInfra("us-east-1a"), cli.Failed, "another private zone of this name"},
		"a deletion is refused for ever": {awsemulator.Fault{Kind: awsemulator.Error, Action: "DeleteVpc", Code: "DependencyViolation", Message: "has dependencies", Count: awsemulator.Forever},
			destroyInfra(), cli.Failed, "the VPC has something that the command does not delete"},
		"a required flag is missing": {awsemulator.Fault{}, []string{"create", "infra", "aws"}, cli.Usage, "--infra-id: Required value"},
		"an unknown flag":            {awsemulator.Fault{}, createInfra("us-east-1a", "--nat"), cli.Usage, "unknown flag: --nat"},
		"an unknown command":         {awsemulator.Fault{}, []string{"make", "infra"}, cli.Usage, "unknown command"},
		"nobody can be asked":        {awsemulator.Fault{}, []string{"destroy", "infra", "aws", "--infra-id", "demo-x7k2p"}, cli.Usage, "needs --yes"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUser(t)
			if slices.Contains(c.args, "destroy") {
				u.must(createInfra("us-east-1a")...)
			}
			if c.fault.Kind != "" {
				c.fault.Account = u.account
				if err := emulator.Fault(t.Context(), c.fault); err != nil {
					t.Fatal(err)
				}
			}
			u.env.Timeout = 2 * time.Second
			if code := u.run(c.args...); code != c.code {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(u.err.String(), c.want) {
				t.Errorf("%q is not in\n%s", c.want, u.err.String())
			}
		})
	}
}

func TestCredentialsOfASessionAndARole(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	path := filepath.Join(t.TempDir(), "sts.json")
	text := fmt.Sprintf(`{"Credentials": {"AccessKeyId": %q, "SecretAccessKey": "any", "SessionToken": "any", "Expiration": "2030-01-01T00:00:00Z"}}`, u.account)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	role, err := emulator.Role(t.Context(), u.account, "administrator", awsemulator.TrustRole("arn:aws:iam::"+u.account+":root"))
	if err != nil {
		t.Fatal(err)
	}
	u.env.AccessKey = nil
	u.must(createInfra("us-east-1a", "--sts-creds", path, "--role-arn", role)...)
	calls, err := emulator.CallsOf(t.Context(), u.account)
	if err != nil {
		t.Fatal(err)
	}
	seen := false
	for _, c := range calls {
		if c.Name() == "ec2.CreateVpc" {
			seen = true
			if c.Role != role {
				t.Errorf("%s as %s", c.Name(), c.Caller)
			}
		}
	}
	if !seen {
		t.Error("no VPC was created")
	}
	if code := u.run(createInfra("us-east-1a", "--sts-creds", u.env.StateHome)...); code != cli.Usage {
		t.Errorf("exit code %d for a file that cannot be read", code)
	}
}

// Credentials in flags are those of the command, also where the environment has others.
func TestCredentialsOfAFile(t *testing.T) {
	t.Parallel()
	u, other := newUser(t), newUser(t)
	path := filepath.Join(t.TempDir(), "credentials")
	u.try(os.WriteFile(path, fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = any\n", u.account), 0o600))
	u.env.AccessKey = other.env.AccessKey
	u.must(createInfra("us-east-1a", "--aws-creds", path)...)
	if left := other.owned(); len(left) > 0 || len(u.owned()) == 0 {
		t.Errorf("the account of the environment has %v", left)
	}
}

func TestVersionAndName(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must("version", "-o", "json")
	var v cli.Version
	if err := json.Unmarshal(u.out.Bytes(), &v); err != nil || v.Go == "" {
		t.Errorf("%v: %s", err, u.out.String())
	}
	for program, want := range map[string]string{"hypershift": "hypershift", "hcp": "hcp", "hcp.exe": "hcp", "hypershift.exe": "hypershift", "hypershift-1.2": "hypershift"} {
		if got := cli.New(program, u.env).Name(); got != want {
			t.Errorf("as %s, the name is %s", program, got)
		}
	}
}

func TestCredentialsInASecret(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.env.Secret = func(_ context.Context, namespace, name string) (map[string][]byte, error) {
		switch namespace + "/" + name {
		case "clusters/aws":
			return map[string][]byte{"aws_access_key_id": []byte(u.account), "aws_secret_access_key": []byte("any")}, nil
		case "clusters/empty":
			return nil, nil
		}
		return nil, errors.New("not found")
	}
	u.env.AccessKey = nil
	u.must(createInfra("us-east-1a", "--secret-creds", "clusters/aws", "--output-file", u.infraJSON())...)
	for secret, c := range map[string]struct {
		code int
		want string
	}{
		"aws":            {cli.Usage, "is not NAMESPACE/NAME"},
		"clusters/other": {cli.Failed, "reading --secret-creds: not found"},
		"clusters/empty": {cli.Failed, "does not have aws_access_key_id"},
	} {
		if code := u.run(createInfra("us-east-1a", "--secret-creds", secret)...); code != c.code || !strings.Contains(u.err.String(), c.want) {
			t.Errorf("%s: exit code %d\n%s", secret, code, u.err.String())
		}
	}
}

// The answer to the first call of each action of the deletion is lost, after the call was carried out.
func TestLostAnswerToEachActionOfADeletion(t *testing.T) {
	for name, commands := range map[string]struct{ create, destroy func(u *user) []string }{
		"infra": {func(*user) []string { return createInfra("us-east-1a") }, func(*user) []string { return destroyInfra() }},
		"iam": {
			func(u *user) []string {
				return u.createIAM("--vpc-id", "vpc-1", "--public-zone-id", "Z1", "--private-zone-id", "Z2", "--local-zone-id", "Z3")
			},
			func(*user) []string { return destroyIAM() },
		},
		"bastion": {
			func(u *user) []string {
				u.givenNetwork()
				return createBastion()
			},
			func(*user) []string { return destroyBastion() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.runsOften()
			u.try(os.WriteFile(u.infraJSON(), []byte(`{"infraID": "demo-x7k2p"}`), 0o600))
			u.must(commands.create(u)...)
			u.must(commands.destroy(u)...)
			for _, at := range interrupted(u.writes) {
				u.must(commands.create(u)...)
				var begun []string
				var mu sync.Mutex
				lost := false
				u.intercept = func(operation string) error {
					mu.Lock()
					defer mu.Unlock()
					if !isWrite(operation) {
						return nil
					}
					begun = append(begun, operation)
					if lost || !at.isAmong(begun) {
						return nil
					}
					lost = true
					return emulator.Fault(t.Context(), awsemulator.Fault{Kind: awsemulator.AnswerLost, Action: operation, Account: u.account})
				}
				u.must(commands.destroy(u)...)
				u.intercept = nil
				if left := u.owned(); len(left) > 0 {
					t.Fatalf("the answer of %v is lost, and the deletion leaves: %s", at, strings.Join(left, "\n"))
				}
				// The number of later calls varies, because some are repeated until others have taken effect.
				if !lost && at.n == 1 {
					t.Fatalf("the deletion has not called %s", at.action)
				}
			}
		})
	}
}

// A call of an earlier command, which was killed, changes the main route table between the read and the call of this command.
func TestMainRouteTableThatChangesDuringTheDeletion(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.must(createInfra("us-east-1a", "--output-file", u.infraJSON())...)
	vpc, e := u.made().VPCID, ec2.NewFromConfig(emulator.Config(u.account))
	var once sync.Once
	u.intercept = func(operation string) error {
		if operation != "ReplaceRouteTableAssociation" {
			return nil
		}
		var err error
		once.Do(func() {
			var tables *ec2.DescribeRouteTablesOutput
			tables, err = e.DescribeRouteTables(t.Context(), &ec2.DescribeRouteTablesInput{Filters: []ec2types.Filter{{Name: aws.String("vpc-id"), Values: []string{vpc}}}})
			if err != nil {
				return
			}
			in := &ec2.ReplaceRouteTableAssociationInput{}
			for _, table := range tables.RouteTables {
				if len(table.Tags) == 0 {
					in.RouteTableId = table.RouteTableId
				}
				for _, a := range table.Associations {
					if aws.ToBool(a.Main) {
						in.AssociationId = a.RouteTableAssociationId
					}
				}
			}
			_, err = e.ReplaceRouteTableAssociation(t.Context(), in)
		})
		return err
	}
	u.env.Timeout = 2 * time.Second
	u.must(destroyInfra()...)
	if left := u.owned(); len(left) > 0 {
		t.Errorf("left: %s", strings.Join(left, "\n"))
	}
}
