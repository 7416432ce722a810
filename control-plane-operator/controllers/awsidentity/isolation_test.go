package awsidentity

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go/middleware"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

const account = "system:serviceaccount:kube-system:control-plane-operator"

func (w *world) takeRole(signer *tokensigner.Signer) func(ctx context.Context, region, issuerURL, roleARN, subject string) error {
	return func(ctx context.Context, region, issuerURL, roleARN, subject string) error {
		token, err := signer.Token(ctx, issuerURL, subject)
		if err != nil {
			return err
		}
		cfg, err := awsx.NewConfig(ctx, awsx.Options{
			Region: region, Anonymous: true, Middleware: []func(*middleware.Stack) error{w.AWS.Install, fakeaws.NoBackoff, w.Calls.Middleware},
		})
		if err != nil {
			return err
		}
		return awsx.TakeRole(ctx, cfg, roleARN, "test", token)
	}
}

// trust replaces the role by a role that trusts these subjects.
func (w *world) trust(subjects ...string) {
	w.theirs.AddRole(fakeaws.Role{Name: "demo-cpo", Trusts: []fakeaws.Trust{{Issuer: issuer, Subjects: subjects}}})
}

func (w *world) wantsIsolation(status metav1.ConditionStatus, reason string, words ...string) {
	w.T.Helper()
	hcp := w.hcp()
	w.Must(w.Admin().Get(w.T.Context(), client.ObjectKeyFromObject(hcp), hcp))
	c := meta.FindStatusCondition(hcp.Status.Conditions, hyperv1.AWSRolesIsolated)
	if c == nil || c.Status != status || c.Reason != reason {
		w.T.Fatalf("got %+v, want %s %s", c, status, reason)
	}
	for _, word := range words {
		if !strings.Contains(c.Message, word) {
			w.T.Errorf("the message does not contain %q: %q", word, c.Message)
		}
	}
}

func newRolesWorld(t testing.TB) *world {
	w := newWorld(t)
	w.asksRoles = true
	return w
}

// A cluster with a role that names the service account works, and the condition names the remedy; the change of the trust policy in two
// stages is followed.
func TestATrustPolicyChangesFromTheServiceAccountToTheSubject(t *testing.T) {
	w := newRolesWorld(t)
	w.trust(account)
	pass := w.start()
	w.Must(pass(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	w.wantsIsolation(metav1.ConditionFalse, hyperv1.ServiceAccountTrustedReason, "controlPlaneOperatorARN", w.role, "add the subject "+names.ControlPlaneOperatorSubject, "remove "+account)

	w.trust(account, names.ControlPlaneOperatorSubject)
	w.Clock.Step(awsx.ExposedRolesTTL)
	w.Must(pass(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	w.wantsIsolation(metav1.ConditionFalse, hyperv1.ServiceAccountTrustedReason, "remove the subject "+account)

	w.trust(names.ControlPlaneOperatorSubject)
	w.Clock.Step(awsx.ExposedRolesTTL)
	w.Must(pass(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	w.wantsIsolation(metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

func TestASessionGoesOnWhenTheTrustPolicyChangesAtOnce(t *testing.T) {
	w := newRolesWorld(t)
	w.trust(account)
	w.start()
	s, err := w.sessions.For(t.Context(), w.target())
	w.Must(err)
	w.Must(s.Check(t.Context()))
	w.trust(names.ControlPlaneOperatorSubject)
	w.theirs.ExpireCredentials("demo-cpo")
	w.start() // a new process has no credentials yet
	s, err = w.sessions.For(t.Context(), w.target())
	w.Must(err)
	w.Must(s.Check(t.Context()))
	last, heard := w.sessions.Last(w.target())
	if !heard || last.Err != nil {
		t.Errorf("the last outcome is %v", last.Err)
	}
}

// The denial of the first of two subjects is no outcome: the condition would turn False for a moment.
func TestADenialThatIsFollowedByAnotherAttemptIsNotReported(t *testing.T) {
	w := newWorld(t)
	w.trust(account)
	w.start()
	s, err := w.sessions.For(t.Context(), w.target())
	w.Must(err)
	// The second exchange has no answer: all that is known is the denial of the first.
	w.AWS.Fault(fakeaws.Fault{Service: fakeaws.STS, Kind: fakeaws.Reset, Times: fakeaws.Forever, Nth: 2})
	if err := s.Check(t.Context()); err == nil {
		t.Fatal("a session without credentials answered")
	}
	if last, heard := w.sessions.Last(w.target()); heard && awsx.IsIdentity(last.Err) {
		t.Errorf("the last outcome is %v", last.Err)
	}
}

func TestRolesAreCheckedRarely(t *testing.T) {
	w := newRolesWorld(t)
	w.trust(names.ControlPlaneOperatorSubject)
	pass := w.start()
	w.Must(pass(t.Context()))
	w.wantsIsolation(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	exchanges := func() (n int) {
		for _, call := range w.AWS.Calls() {
			if call.Operation == "AssumeRoleWithWebIdentity" {
				n++
			}
		}
		return n
	}
	first := exchanges()
	for range 11 {
		w.Clock.Step(awsx.IsolatedRolesTTL / 12)
		w.Must(pass(t.Context()))
	}
	// The credentials of the session end by the real clock, so no other exchange is due.
	if n := exchanges() - first; n != 0 {
		t.Errorf("%d more exchanges in 11 hours", n)
	}
	w.Clock.Step(awsx.IsolatedRolesTTL / 12)
	w.Must(pass(t.Context()))
	if n := exchanges() - first; n != 1 {
		t.Errorf("%d more exchanges after 12 hours, want one for the one role", n)
	}
}

// refused counts the attempts to take a role that STS has refused.
func (w *world) refused() (n int) {
	for _, call := range w.AWS.Calls() {
		if call.Operation == "AssumeRoleWithWebIdentity" && call.Failed == "AccessDenied" {
			n++
		}
	}
	return n
}

func TestANewProcessChecksRolesOnlyForAReason(t *testing.T) {
	for name, tc := range map[string]struct {
		between func(*world)
		want    int
	}{
		"nothing has changed": {func(w *world) { w.Clock.Step(awsx.IsolatedRolesTTL / 2) }, 0},
		"a role has another ARN": {func(w *world) {
			other := w.theirs.AddRole(fakeaws.Role{Name: "other", Trusts: []fakeaws.Trust{{Issuer: issuer, Subjects: []string{names.ControlPlaneOperatorSubject}}}})
			w.change(func(hcp *hyperv1.HostedControlPlane) {
				hcp.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN = hyperv1.RoleARN(other)
			})
		}, 1},
		"there is one role more": {func(w *world) {
			w.change(func(hcp *hyperv1.HostedControlPlane) {
				hcp.Spec.Platform.AWS.RolesRef.NodePoolManagementARN = hyperv1.RoleARN(w.role)
			})
		}, 2},
		"the check is old":                      {func(w *world) { w.Clock.Step(awsx.IsolatedRolesTTL) }, 1},
		"the check seems to be from the future": {func(w *world) { w.Clock.Step(-time.Hour) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRolesWorld(t)
			w.trust(names.ControlPlaneOperatorSubject)
			w.Must(w.start()(t.Context()))
			if n := w.refused(); n != 1 {
				t.Fatalf("the first check had %d refusals", n)
			}
			tc.between(w)
			w.Must(w.start()(t.Context()))
			if n := w.refused() - 1; n != tc.want {
				t.Errorf("%d refusals in the new process, want %d", n, tc.want)
			}
			w.wantsIsolation(metav1.ConditionTrue, hyperv1.AsExpectedReason)
		})
	}
}

// The next process checks a finding of the former one at once: it may be repaired.
func TestAFindingIsNotRecorded(t *testing.T) {
	w := newRolesWorld(t)
	w.trust(names.ControlPlaneOperatorSubject)
	pass := w.start()
	w.Must(pass(t.Context()))
	w.trust(account, names.ControlPlaneOperatorSubject)
	w.Clock.Step(awsx.IsolatedRolesTTL)
	w.Must(pass(t.Context()))
	w.wantsIsolation(metav1.ConditionFalse, hyperv1.ServiceAccountTrustedReason)
	w.Must(w.start()(t.Context()))
	w.wantsIsolation(metav1.ConditionFalse, hyperv1.ServiceAccountTrustedReason)
	w.trust(names.ControlPlaneOperatorSubject)
	w.Must(w.start()(t.Context()))
	w.wantsIsolation(metav1.ConditionTrue, hyperv1.AsExpectedReason)
}

func TestAnUnansweredQuestionAboutARoleIsUnknown(t *testing.T) {
	w := newRolesWorld(t)
	w.trust(names.ControlPlaneOperatorSubject)
	other := w.theirs.AddRole(fakeaws.Role{Name: "nodes", Trusts: []fakeaws.Trust{{Issuer: issuer}}})
	w.change(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Platform.AWS.RolesRef.NodePoolManagementARN = hyperv1.RoleARN(strings.Replace(other, customer, "999999999999", 1))
	})
	w.Must(w.start()(t.Context()))
	w.wants(metav1.ConditionTrue, hyperv1.AsExpectedReason)
	w.wantsIsolation(metav1.ConditionUnknown, hyperv1.InvalidIdentityProviderReason, "999999999999")
}

func TestTrialWithRoles(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario {
		w := newRolesWorld(t)
		w.trust(account)
		return w.story()
	}
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, begin) })
	t.Run("vanish", func(t *testing.T) { crashtest.NoLeaks(t, begin) })
}
