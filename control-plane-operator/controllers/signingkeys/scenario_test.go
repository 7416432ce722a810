package signingkeys

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubecontrollermanager"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func TestClusterWithoutARotationIsNotVerified(t *testing.T) {
	e := newControlPlane(t)
	e.fails["a"] = errors.New("connection refused")
	e.Once() // conditions that are derived from others
	if writes := e.Once(); writes > 0 || e.report() != nil || e.asked > 0 {
		t.Errorf("%d writes, report %+v", writes, e.report())
	}
}

// The Secret counts as loaded when every program uses it, and nothing else.
func TestEveryProgramIsVerified(t *testing.T) {
	e := newControlPlane(t)
	e.publish()
	expect := func(loaded bool, message string) {
		t.Helper()
		e.Once()
		r := e.report()
		if r == nil || (r.LoadedRevision == e.state.Revision()) != loaded || !strings.Contains(r.Message, message) || (r.Message == "") != (message == "") {
			t.Errorf("the report is %+v, want %q", r, message)
		}
	}
	expect(false, "pod a has not started with the current keys")
	e.load("a")
	expect(false, "pod b has not started with the current keys")
	e.load("b")
	e.fails["b"] = errors.New("connection refused")
	expect(false, "pod b could not be checked: connection refused")
	delete(e.fails, "b")
	e.loaded["b"] = Loaded{Accepts: append(e.loaded["b"].Accepts, "another"), Signs: e.state.Signing.ID}
	expect(false, "pod b")
	e.load("b")
	expect(true, "")

	e.replace()
	expect(false, "pod kcm has not started with the current key")
	e.loadControllerManager()
	expect(false, "pod a")
	e.load("a")
	e.load("b")
	e.loaded["b"] = Loaded{Accepts: e.loaded["b"].Accepts, Signs: e.state.Old[0].ID} // it has read an older file
	expect(false, "pod b")
	e.load("b")
	expect(true, "")

	e.state.Retired, e.state.Old = []string{e.state.Old[0].ID}, nil
	e.store()
	expect(false, "pod a")
	e.load("a")
	e.load("b")
	expect(true, "")
	e.state.Retired = nil
	e.store()
	e.Once()
	if e.report() != nil {
		t.Errorf("after the rotation there is the report %+v", e.report())
	}
}

func TestPodsThatServeNobody(t *testing.T) {
	e := newControlPlane(t)
	e.publish()
	e.Delete(&corev1.Pod{ObjectMeta: testenv.In(namespace, "a")}, &corev1.Pod{ObjectMeta: testenv.In(namespace, "b")})
	e.Once()
	if r := e.report(); r.LoadedRevision != "" || !strings.Contains(r.Message, "no pod of kube-apiserver runs") {
		t.Errorf("the report is %+v", r)
	}
	e.pod(names.KubeAPIServer, "c", "")
	e.Once()
	if r := e.report(); r.LoadedRevision != "" || !strings.Contains(r.Message, "pod c has no address yet") {
		t.Errorf("the report is %+v", r)
	}
}

func TestTokenOfTheNextKeyIsShownToAWS(t *testing.T) {
	e := newControlPlane(t)
	e.publish()
	e.load("a")
	e.load("b")
	e.refuses = &smithy.GenericAPIError{Code: "InvalidIdentityToken", Message: "Couldn't retrieve verification key"}
	e.Once()
	if r := e.report(); r.TrustedByAWS != "" || !strings.Contains(r.Message, "AWS does not accept tokens of key "+e.state.Next.ID) {
		t.Errorf("the report is %+v", r)
	}
	for range 5 {
		e.Once()
	}
	if e.asked != 1 || !strings.Contains(e.report().Message, "AWS does not accept") {
		t.Errorf("AWS was asked %d times; the report is %+v", e.asked, e.report())
	}
	e.Clock.Step(awsInterval)
	denied := &smithy.OperationError{ServiceID: "STS", OperationName: "AssumeRoleWithWebIdentity", Err: &smithy.GenericAPIError{Code: "AccessDenied", Message: "Not authorized"}}
	e.refuses = denied // of the subject: its signature is accepted
	e.Once()
	if r := e.report(); r.TrustedByAWS != e.state.Next.ID || r.Message != "" {
		t.Errorf("the report is %+v", r)
	}
	e.Clock.Step(time.Hour)
	e.Once()
	if e.asked != 2 {
		t.Errorf("AWS was asked %d times", e.asked)
	}
	first := e.state.Next.ID
	e.refuses = nil
	e.publish() // another one
	e.Once()
	if r := e.report(); r.TrustedByAWS == first || r.TrustedByAWS != e.state.Next.ID {
		t.Errorf("the report is %+v", r)
	}
}

func tokenOf(t *testing.T, key signingkeys.Key, e *controlPlane) []byte {
	t.Helper()
	signer, err := webidentity.NewSigner(key.Private, "https://example.com", e.Clock)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signer.Token("system:serviceaccount:a:b", "c", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(token)
}

func tokenSecret(namespace, name string, token []byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: testenv.In(namespace, name), Type: corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{corev1.ServiceAccountTokenKey: token}}
}

func (e *controlPlane) hostedPod(name string, created time.Time) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: testenv.In("default", name)}
	pod.CreationTimestamp = metav1.NewTime(created)
	return pod
}

// Tokens of an old key are looked for when the others have expired.
func TestTokensOfOldKeysAreCounted(t *testing.T) {
	e := newControlPlane(t)
	first := e.state.Signing
	e.publish()
	e.replace()
	e.load("a")
	e.load("b")
	e.loadControllerManager()
	e.state.Old[0].Replaced = e.Clock.Now()
	e.store()
	old := tokenOf(t, first, e)
	e.tokens = []client.Object{
		tokenSecret("a", "old", old), tokenSecret("b", "old", old), tokenSecret("c", "old", old), tokenSecret("d", "old", old),
		tokenSecret("a", "without-key-id", []byte("eyJhbGciOiJub25lIn0.e30.")), tokenSecret("a", "new", tokenOf(t, e.state.Signing, e)), tokenSecret("a", "empty", nil),
		&corev1.Secret{ObjectMeta: testenv.In("a", "another-type"), Data: map[string][]byte{corev1.ServiceAccountTokenKey: old}},
		e.hostedPod("old", e.Clock.Now().Add(-time.Hour)), e.hostedPod("at-that-time", e.Clock.Now().Add(time.Minute)), e.hostedPod("new", e.Clock.Now().Add(time.Hour)),
	}
	e.Once()
	if r := e.report(); e.searches > 0 || r.OldKeys != nil || r.ChecksTokens != nil {
		t.Errorf("tokens have not expired, and the report is %+v", r)
	}
	e.Clock.Step(time.Hour)
	e.forbidden = apierrors.NewForbidden(corev1.Resource("secrets"), "", errors.New("no"))
	e.Once()
	if r := e.report(); r.OldKeys != nil || !ptr.Deref(r.ChecksTokens, false) || !strings.Contains(r.Message, "waiting for the permission") {
		t.Errorf("the report is %+v", r)
	}
	e.forbidden = nil
	e.Once()
	r := e.report()
	if len(r.OldKeys) != 1 || r.OldKeys[0].KeyID != first.ID || *r.OldKeys[0].Secrets != 5 || *r.OldKeys[0].Pods != 2 || len(r.OldKeys[0].SecretNames) != 3 || r.Message != "" {
		t.Errorf("the report is %+v", r)
	}
	before := e.searches
	e.Once()
	if e.searches != before {
		t.Error("the hosted cluster is searched all the time")
	}
	e.tokens = nil
	e.Clock.Step(tokensInterval)
	e.Once()
	if r := e.report(); *r.OldKeys[0].Secrets != 0 || *r.OldKeys[0].Pods != 0 {
		t.Errorf("the report is %+v", r)
	}
}

func TestUnreadableSecretIsReported(t *testing.T) {
	e := newControlPlane(t)
	e.publish()
	e.Once()
	secret := &corev1.Secret{ObjectMeta: testenv.In(namespace, names.ServiceAccountSigningKey)}
	e.Change(secret, func() { secret.Data[names.ServiceAccountKeysRecord] = []byte("{") })
	before := e.report()
	e.Once()
	if after := e.report(); after == nil || after.LoadedRevision != before.LoadedRevision {
		t.Errorf("the report is %+v", after)
	}
	e.Delete(secret)
	e.Once()
	if e.report() != nil {
		t.Errorf("the report is %+v", e.report())
	}
}

// The programs follow the Secret one after the other, one in each pass.
func scenario(t testing.TB) *crashtest.Scenario {
	e := newControlPlane(t)
	e.publish()
	s := e.Scenario()
	s.Cloud = nil
	s.OtherControllers = func(ctx context.Context) error {
		for _, name := range []string{"a", "b"} {
			if before := e.loaded[name]; len(before.Accepts) != len(e.state.IDs()) || before.Signs != e.state.Signing.ID {
				e.load(name)
				return nil
			}
		}
		hcp := testenv.HostedControlPlane()
		if err := e.Admin().Get(ctx, client.ObjectKeyFromObject(hcp), hcp); err != nil {
			return client.IgnoreNotFound(err)
		}
		if r := hcp.Status.ServiceAccountKeys; e.state.Next != nil && r != nil && r.LoadedRevision == e.state.Revision() && r.TrustedByAWS == e.state.Next.ID {
			e.replace()
			pod := &corev1.Pod{ObjectMeta: testenv.In(namespace, "kcm")}
			if err := e.Admin().Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil {
				return err
			}
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kubecontrollermanager.SigningKeyAnnotation, e.state.Signing.ID)
			return e.Admin().Update(ctx, pod)
		}
		return nil
	}
	s.Mask = func(text string) string {
		// YAML quotes a revision that looks like a number.
		return strings.NewReplacer(e.state.Signing.ID, "new", `"`+e.state.Revision()+`"`, "revision", e.state.Revision(), "revision", e.state.IDs()[len(e.state.IDs())-1], "old").Replace(text)
	}
	s.Ready = func(context.Context) string {
		if r := e.report(); e.state.Next != nil || r == nil || r.LoadedRevision != e.state.Revision() {
			return "the keys are not loaded"
		}
		return ""
	}
	s.Delete = func(ctx context.Context) error {
		for _, obj := range []client.Object{testenv.HostedControlPlane(), &corev1.Pod{}, &corev1.Secret{}} {
			if obj.GetName() != "" {
				if err := client.IgnoreNotFound(e.Admin().Delete(ctx, obj)); err != nil {
					return err
				}
				continue
			}
			if err := e.Admin().DeleteAllOf(ctx, obj, client.InNamespace(namespace)); err != nil {
				return err
			}
		}
		return nil
	}
	return s
}

func TestCrashConsistencyAndLeaks(t *testing.T) {
	t.Run("crash", func(t *testing.T) { crashtest.CrashConsistency(t, scenario) })
	t.Run("no leaks", func(t *testing.T) { crashtest.NoLeaks(t, scenario) })
	t.Run("faults", func(t *testing.T) { crashtest.APIFaults(t, scenario) })
}
