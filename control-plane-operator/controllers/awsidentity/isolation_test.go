package awsidentity

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

const account = "system:serviceaccount:kube-system:control-plane-operator"

func (e *fakeIdentityProvider) takeRole(signer *tokensigner.Signer) func(ctx context.Context, region, issuerURL, roleARN, subject string) error {
	return func(ctx context.Context, region, issuerURL, roleARN, subject string) error {
		token, err := signer.Token(ctx, issuerURL, subject)
		if err != nil {
			return err
		}
		cfg, err := awsx.NewConfig(ctx, awsx.Options{
			Region: region, Anonymous: true, Middleware: []func(*middleware.Stack) error{e.AWS.Install, fakeaws.NoBackoff, e.Calls.Middleware},
		})
		if err != nil {
			return err
		}
		return awsx.TakeRole(ctx, cfg, roleARN, "test", token)
	}
}

// trust replaces the role by a role that trusts these subjects.
func (e *fakeIdentityProvider) trust(subjects ...string) {
	e.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer, Subjects: subjects}}})
}

func newFakeRoles(t testing.TB) *fakeIdentityProvider {
	e := newFakeIdentityProvider(t)
	e.asksRoles = true
	e.Restart()
	return e
}

// A cluster with a role that names the service account works, and the condition names the remedy; the change of the trust policy in two
// stages is followed.
func TestATrustPolicyChangesFromTheServiceAccountToTheSubject(t *testing.T) {
	e := newFakeRoles(t)
	e.trust(account)
	e.Restart()
	e.Once()
	e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.ExpectCondition(hyperv1.AWSRolesIsolated, metav1.ConditionFalse, hyperv1.ServiceAccountTrustedReason, "controlPlaneOperatorARN", e.role, "add the subject "+names.ControlPlaneOperatorSubject, "remove "+account)

	e.trust(account, names.ControlPlaneOperatorSubject)
	e.Clock.Step(awsx.ExposedRolesTTL)
	e.Once()
	e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.ExpectCondition(hyperv1.AWSRolesIsolated, metav1.ConditionFalse, hyperv1.ServiceAccountTrustedReason, "remove the subject "+account)

	e.trust(names.ControlPlaneOperatorSubject)
	e.Clock.Step(awsx.ExposedRolesTTL)
	e.Once()
	e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.ExpectCondition(hyperv1.AWSRolesIsolated, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

func TestASessionGoesOnWhenTheTrustPolicyChangesAtOnce(t *testing.T) {
	e := newFakeRoles(t)
	e.trust(account)
	e.Restart()
	s, err := e.sessions.For(t.Context(), e.target())
	e.Must(err)
	e.Must(s.Check(t.Context()))
	e.trust(names.ControlPlaneOperatorSubject)
	e.theirs.ExpireCredentials("demo-cpo")
	e.Restart() // a new process has no credentials yet
	s, err = e.sessions.For(t.Context(), e.target())
	e.Must(err)
	e.Must(s.Check(t.Context()))
	last, heard := e.sessions.Last(e.target())
	if !heard || last.Err != nil {
		t.Errorf("the last outcome is %v", last.Err)
	}
}

// The denial of the first of two subjects is no outcome: the condition would turn False for a moment.
func TestADenialThatIsFollowedByAnotherAttemptIsNotReported(t *testing.T) {
	e := newFakeIdentityProvider(t)
	e.trust(account)
	e.Restart()
	s, err := e.sessions.For(t.Context(), e.target())
	e.Must(err)
	// The second exchange has no answer: all that is known is the denial of the first.
	e.AWS.Fault(fakeaws.Fault{Service: fakeaws.STS, Kind: fakeaws.Reset, Times: fakeaws.Forever, Nth: 2})
	if err := s.Check(t.Context()); err == nil {
		t.Fatal("a session without credentials answered")
	}
	if last, heard := e.sessions.Last(e.target()); heard && awsx.IsIdentity(last.Err) {
		t.Errorf("the last outcome is %v", last.Err)
	}
}

func TestRolesAreCheckedRarely(t *testing.T) {
	e := newFakeRoles(t)
	e.trust(names.ControlPlaneOperatorSubject)
	e.Restart()
	e.Once()
	e.ExpectCondition(hyperv1.AWSRolesIsolated, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	exchanges := func() (n int) {
		for _, call := range e.AWS.Calls() {
			if call.Operation == "AssumeRoleWithWebIdentity" {
				n++
			}
		}
		return n
	}
	first := exchanges()
	for range 11 {
		e.Clock.Step(awsx.IsolatedRolesTTL / 12)
		e.Once()
	}
	// The credentials of the session end by the real clock, so no other exchange is due.
	if n := exchanges() - first; n != 0 {
		t.Errorf("%d more exchanges in 11 hours", n)
	}
	e.Clock.Step(awsx.IsolatedRolesTTL / 12)
	e.Once()
	if n := exchanges() - first; n != 1 {
		t.Errorf("%d more exchanges after 12 hours, want one for the one role", n)
	}
}

// refused counts the attempts to take a role that STS has refused.
func (e *fakeIdentityProvider) refused() (n int) {
	for _, call := range e.AWS.Calls() {
		if call.Operation == "AssumeRoleWithWebIdentity" && call.Failed == "AccessDenied" {
			n++
		}
	}
	return n
}

func TestANewProcessChecksRolesOnlyForAReason(t *testing.T) {
	for name, tc := range map[string]struct {
		between func(*fakeIdentityProvider)
		want    int
	}{
		"nothing has changed": {func(e *fakeIdentityProvider) { e.Clock.Step(awsx.IsolatedRolesTTL / 2) }, 0},
		"a role has another ARN": {func(e *fakeIdentityProvider) {
			other := e.theirs.AddRole(fakeaws.Role{Name: "other", Trusts: []fakeaws.Trust{{Issuer: issuer, Subjects: []string{names.ControlPlaneOperatorSubject}}}})
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
				hcp.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = hyperv1.RoleARN(other)
			})
		}, 1},
		"there is one role more": {func(e *fakeIdentityProvider) {
			e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
				hcp.Spec.Platform.AWS.RolesRef.NodePoolManagementARN = hyperv1.RoleARN(e.role)
			})
		}, 2},
		"the check is old":                      {func(e *fakeIdentityProvider) { e.Clock.Step(awsx.IsolatedRolesTTL) }, 1},
		"the check seems to be from the future": {func(e *fakeIdentityProvider) { e.Clock.Step(-time.Hour) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeRoles(t)
			e.trust(names.ControlPlaneOperatorSubject)
			e.Restart()
			e.Once()
			if n := e.refused(); n != 1 {
				t.Fatalf("the first check had %d refusals", n)
			}
			tc.between(e)
			e.Restart()
			e.Once()
			if n := e.refused() - 1; n != tc.want {
				t.Errorf("%d refusals in the new process, want %d", n, tc.want)
			}
			e.ExpectCondition(hyperv1.AWSRolesIsolated, metav1.ConditionTrue, hyperv1.AsExpectedReason)
		})
	}
}

// The write of a record may be put off until the next reconcile, which has to make it again.
func TestAReconcileWithoutACheckRecordsTheLastOne(t *testing.T) {
	e := newFakeRoles(t)
	e.trust(names.ControlPlaneOperatorSubject)
	e.Restart()
	e.Once()
	hcp := e.HCP()
	record := hcp.Status.AWSRolesIsolation
	hcp.Status.AWSRolesIsolation = nil
	e.Must(e.Admin().Status().Update(t.Context(), hcp))
	calls := len(e.AWS.Calls())
	e.Once()
	if got := e.HCP().Status.AWSRolesIsolation; record == nil || got == nil || got.RolesHash != record.RolesHash {
		t.Errorf("the record is %+v, want %+v", got, record)
	}
	if now := len(e.AWS.Calls()); now != calls {
		t.Errorf("%d calls for it", now-calls)
	}
}

// The next process checks a finding of the former one at once: it may be repaired.
func TestAFindingIsNotRecorded(t *testing.T) {
	e := newFakeRoles(t)
	e.trust(names.ControlPlaneOperatorSubject)
	e.Restart()
	e.Once()
	e.trust(account, names.ControlPlaneOperatorSubject)
	e.Clock.Step(awsx.IsolatedRolesTTL)
	e.Once()
	e.ExpectCondition(hyperv1.AWSRolesIsolated, metav1.ConditionFalse, hyperv1.ServiceAccountTrustedReason)
	e.Restart()
	e.Once()
	e.ExpectCondition(hyperv1.AWSRolesIsolated, metav1.ConditionFalse, hyperv1.ServiceAccountTrustedReason)
	e.trust(names.ControlPlaneOperatorSubject)
	e.Restart()
	e.Once()
	e.ExpectCondition(hyperv1.AWSRolesIsolated, metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

func TestAnUnansweredQuestionAboutARoleIsUnknown(t *testing.T) {
	e := newFakeRoles(t)
	e.trust(names.ControlPlaneOperatorSubject)
	other := e.theirs.AddRole(fakeaws.Role{Name: "nodes", Trusts: []fakeaws.Trust{{Issuer: issuer}}})
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.RolesRef.NodePoolManagementARN = hyperv1.RoleARN(strings.Replace(other, customer, "999999999999", 1))
	})
	e.Restart()
	e.Once()
	e.ExpectCondition(hyperv1.ValidAWSIdentityProvider, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.ExpectCondition(hyperv1.AWSRolesIsolated, metav1.ConditionUnknown, hyperv1.InvalidIdentityProviderReason, "999999999999")
}

func TestTrialWithRoles(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario {
		e := newFakeRoles(t)
		e.trust(account)
		return e.story()
	}
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, begin) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, begin) })
}
