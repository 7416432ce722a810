package ledger_test

import (
	"context"
	"regexp"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/securitygroup"
	"github.com/hosted-control-planes/hypershift/internal/ledger"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// fakeGroups is one object with two security groups, of which the second can be used some time after its creation.
type fakeGroups struct {
	*testenv.Env
	account *fakeaws.Account
	vpc     string

	controller *reconcile.Controller[*hyperv1.AWSEndpointService, *scope]
	groups     *securitygroup.Manager
	ledger     *ledger.Ledger[*scope]
}

type scope struct {
	es     *hyperv1.AWSEndpointService
	status *reconcile.Writer[*hyperv1.AWSEndpointService]
}

const owner = "owner"

func newFakeGroups(t testing.TB) *fakeGroups {
	delays := fakeaws.UsualDelays
	delays.Listed = 25 * time.Second // longer than a pass
	e := &fakeGroups{Env: testenv.New(t, testenv.WithScheme(scheme), testenv.For(object(), &hyperv1.AWSEndpointServiceList{}), testenv.WithDelays(delays))}
	e.Start = e.start
	e.account = e.AWS.Account(testenv.Customer)
	e.vpc = e.account.AddVPC(testenv.Region, fakeaws.VPC{})
	return e
}

func object() *hyperv1.AWSEndpointService {
	return &hyperv1.AWSEndpointService{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.Namespace, Name: "private-router"}}
}

// start starts a process.
func (e *fakeGroups) start() testenv.Pass {
	cfg := e.Config(e.account, testenv.Region, "demo-cpo")
	cfg.APIOptions = append(cfg.APIOptions, fakeaws.NoBackoff)
	e.groups = securitygroup.NewManager(awsx.EC2(cfg), e.Clock, owner, e.vpc)
	e.ledger = ledger.New(ledger.Options[*scope]{
		Recorder: events.NewFakeRecorder(1000), Clock: e.Clock,
		Object:    func(s *scope) client.Object { return s.es },
		Finalizer: hyperv1.ControlPlaneOperatorFinalizer,
		Store:     func(s *scope) ledger.Store { return s.status },
		Prepare:   func(s *scope) { s.es.Status.Cleanup = &hyperv1.AWSEndpointCleanup{OwnerUID: owner, VPC: e.vpc} },
		HasRecord: func(s *scope) bool { return s.es.Status.Cleanup != nil },
		UserTags:  func(*scope) awsx.Tags { return awsx.Tags{"team": "blue"} },
		TagKeys:   func(s *scope) *[]string { return &s.es.Status.TagKeys },
		Open: func(_ context.Context, s *scope) error {
			e.groups.Invalidate(time.Minute)
			return nil
		},
		Invalidate: func(*scope) { e.groups.Invalidate(0) },
		Last:       func(context.Context, *scope) (bool, error) { return true, nil },
		Awaiting:   reconcile.Waiting{Reason: hyperv1.EndpointDeletingReason, Message: "waiting for the lists of AWS"},
		Resources: []ledger.Resource[*scope]{
			e.group("first", hyperv1.SecurityGroupResource),
			e.group("second", hyperv1.VPCEndpointResource),
		},
	})
	live, deleting := e.ledger.Live(), e.ledger.Deleting()
	e.controller = &reconcile.Controller[*hyperv1.AWSEndpointService, *scope]{
		Name: "ledger", Client: e.Client(), Reader: e.Client(), Clock: e.Clock,
		Scope: func(_ context.Context, es *hyperv1.AWSEndpointService, status *reconcile.Writer[*hyperv1.AWSEndpointService]) (*scope, error) {
			if !es.DeletionTimestamp.IsZero() && !slices.Contains(es.Finalizers, hyperv1.ControlPlaneOperatorFinalizer) {
				return nil, reconcile.Skip(0)
			}
			return &scope{es: es, status: status}, nil
		},
		Phase: func(s *scope) []reconcile.Step[*scope] {
			if !s.es.DeletionTimestamp.IsZero() {
				return deleting
			}
			return live
		},
		FieldOwner: "ledger", Conditions: []string{hyperv1.AWSEndpointAvailable},
		Fields: func(es *hyperv1.AWSEndpointService) any {
			mine := es.Status
			mine.Conditions = nil
			return mine
		},
		Summary: func(*scope) string { return hyperv1.AWSEndpointAvailable },
	}
	return testenv.PassOver(e.Env, &hyperv1.AWSEndpointServiceList{}, e.controller.ReconcileObject)
}

func (e *fakeGroups) group(name string, of hyperv1.AWSEndpointResource) ledger.Resource[*scope] {
	is := func(role string) bool { return role == name }
	return ledger.Resource[*scope]{
		Name:  name,
		Entry: func(s *scope) ledger.Entry { return entry{&s.es.Status, of} },
		Ensure: func(ctx context.Context, s *scope, c ledger.Claim) (ledger.Observed, error) {
			tags := awsx.OwnedTags(awsx.Tags{"team": "blue"}, owner, name, "demo-x", name)
			id, err := e.groups.Ensure(ctx, securitygroup.Spec{
				Role: name, Name: name, Description: name, VPC: e.vpc, Tags: tags, StaleTags: tags.Stale(c.TagKeys), Hooks: c.Hooks,
			})
			return ledger.Observed{ID: id, Usable: true}, err
		},
		Delete: func(ctx context.Context, _ *scope, d ledger.Deletion) (bool, error) {
			all, err := e.groups.List(ctx)
			if err != nil {
				return false, err
			}
			found := slices.ContainsFunc(all, func(g securitygroup.Group) bool { return is(g.Tags[awsx.RoleTag]) })
			if d.Sweep {
				return found, e.groups.Delete(ctx, func(string) bool { return true }, d.ID)
			}
			return found, e.groups.Delete(ctx, is, d.ID)
		},
	}
}

// generated matches the ids that AWS generates: they differ between two runs.
var generated = regexp.MustCompile(`sg-0[0-9a-f]{16}`)

func (e *fakeGroups) scenario() *crashtest.Scenario {
	s := e.Scenario(hyperv1.AWSEndpointAvailable)
	s.Mask = func(text string) string { return generated.ReplaceAllString(text, "sg-generated") }
	return s
}

func TestCrashes(t *testing.T) {
	setup := func(t testing.TB) *crashtest.Scenario { return newFakeGroups(t).scenario() }
	t.Run("converge", func(t *testing.T) { crashtest.CrashConsistency(t, setup) })
	t.Run("leaks", func(t *testing.T) { crashtest.NoLeaks(t, setup) })
}

// The answer to a creation is lost, and AWS does not list the resource yet when the
// object is deleted.
func TestALostAnswerLeavesNothing(t *testing.T) {
	e := newFakeGroups(t)
	empty := e.AWS.Snapshot()
	pass := e.start()
	e.AWS.Fault(fakeaws.Fault{Operation: "CreateSecurityGroup", Kind: fakeaws.AnswerLost, Times: 1})
	_ = pass(t.Context())
	if e.AWS.Snapshot() == empty {
		t.Fatal("nothing was created")
	}
	e.Must(e.Admin().Delete(t.Context(), object()))
	for range 10 {
		_ = pass(t.Context())
		e.Must(e.CollectGarbage(t.Context()))
		e.Clock.Step(10 * time.Second)
	}
	if now := e.AWS.Snapshot(); now != empty {
		t.Errorf("left:\n%s", now)
	}
	if err := e.Admin().Get(t.Context(), client.ObjectKeyFromObject(object()), object()); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the object is still there: %v", err)
	}
}
