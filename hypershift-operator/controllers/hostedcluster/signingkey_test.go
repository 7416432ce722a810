package hostedcluster

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// keyPool has keys for all tests: a key takes longer than a test.
var keyPool = sync.OnceValue(func() [][]byte {
	var pool [][]byte
	for range 8 {
		private, _, err := webidentity.GenerateKey()
		if err != nil {
			panic(err)
		}
		pool = append(pool, private)
	}
	return pool
})

// rotating is a cluster whose API servers load keys as soon as they are told to.
func rotating(t testing.TB) *managementCluster {
	e := newManagementCluster(t)
	e.useKeyPool()
	e.verifies = true
	return e
}

// useKeyPool makes the operator generate a new key each time.
func (e *managementCluster) useKeyPool() {
	next := 0
	e.newKey = func() (private, public []byte, err error) {
		private = keyPool()[next%len(keyPool())]
		next++
		public, err = webidentity.PublicFromPrivate(private)
		return private, public, err
	}
}

// reportKeys acts for the control-plane-operator: the API servers have the keys, AWS accepts them, and no token of an old one exists.
func (e *managementCluster) reportKeys(ctx context.Context, hcp *hyperv1.HostedControlPlane) error {
	if !e.verifies {
		return nil
	}
	secret := &corev1.Secret{}
	if err := e.Admin().Get(ctx, client.ObjectKey{Namespace: plane, Name: names.ServiceAccountSigningKey}, secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	keys, err := signingkeys.Decode(secret.Data)
	if err != nil {
		return err
	}
	var report *hyperv1.ServiceAccountKeysStatus
	if keys.Rotating() {
		report = &hyperv1.ServiceAccountKeysStatus{LoadedRevision: keys.Revision()}
		if keys.Next != nil {
			report.TrustedByAWS = keys.Next.ID
		}
		for _, o := range keys.Old {
			if !o.Replaced.IsZero() && !e.Clock.Now().Before(o.Due()) {
				report.OldKeys = append(report.OldKeys, hyperv1.OldSigningKeyTokens{KeyID: o.ID, Secrets: ptr.To[int32](0), Pods: ptr.To[int32](0)})
			}
		}
	}
	if reflect.DeepEqual(report, hcp.Status.ServiceAccountKeys) {
		return nil
	}
	hcp.Status.ServiceAccountKeys = report
	return e.Admin().Status().Update(ctx, hcp)
}

func (e *managementCluster) keys() *signingkeys.State {
	e.T.Helper()
	secret := &corev1.Secret{}
	if !e.Has(secret, names.ServiceAccountSigningKey) {
		e.T.Fatal("there is no signing key")
	}
	keys, err := signingkeys.Decode(secret.Data)
	e.Must(err)
	return keys
}

// idsOf are the IDs of keys in the pool, in their order.
func idsOf(t testing.TB, numbers ...int) []string {
	t.Helper()
	var ids []string
	for _, n := range numbers {
		key, err := signingkeys.NewKey(keyPool()[n])
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, key.ID)
	}
	return ids
}

// expectKeys checks which key signs, which others are accepted, and that the published documents have all of them.
func (e *managementCluster) expectKeys(stage hyperv1.SigningKeyStage, numbers ...int) {
	e.T.Helper()
	want := idsOf(e.T, numbers...)
	secret := &corev1.Secret{}
	e.Has(secret, names.ServiceAccountSigningKey)
	accepted, err := webidentity.KeyIDs(secret.Data[names.ServiceAccountPublicKeyFile])
	e.Must(err)
	signing, err := signingkeys.NewKey(secret.Data[names.ServiceAccountPrivateKeyFile])
	e.Must(err)
	if signing.ID != want[0] || !slices.Equal(accepted, want) {
		e.T.Errorf("%s signs, and %v are accepted; want %v", signing.ID, accepted, want)
	}
	st := testenv.Read(e.Env, privateCluster()).Status.ServiceAccountSigningKey
	if st == nil || st.Stage != stage || st.KeyID != want[0] {
		e.T.Errorf("the status is %+v, want stage %q of %s", st, stage, want[0])
	}
	documents, published := e.AWS.Object(bucket, "demo-x/"+webidentity.JWKSPath)
	for _, id := range want {
		if published && !strings.Contains(string(documents), id) {
			e.T.Errorf("the documents do not have key %s", id)
		}
	}
	if published && strings.Count(string(documents), `"kid"`) != len(want) {
		e.T.Errorf("the documents are %s", documents)
	}
}

func TestSigningKeyIsRotatedInStages(t *testing.T) {
	e := rotating(t)
	e.Run(6)
	e.expectKeys("", 0)
	if c := e.lookUpSigningKey(); c != nil {
		t.Errorf("without a rotation there is the condition %+v", c)
	}
	e.annotate(hyperv1.RotateSigningKeyAnnotation, "1")
	e.Run(4)
	e.expectKeys(hyperv1.SigningKeyPublish, 0, 1)
	e.ExpectCondition(hyperv1.ServiceAccountSigningKeyRotated, metav1.ConditionFalse, hyperv1.PublishingSigningKeyReason, "caches")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	if next := testenv.Read(e.Env, privateCluster()).Status.ServiceAccountSigningKey.NextStageTime; next == nil || next.Time.Sub(e.Clock.Now()) > signingkeys.DefaultPublication {
		t.Errorf("the next stage is at %v", next)
	}
	e.Once()
	if e.RequeueAfter <= 0 || e.RequeueAfter > 30*time.Minute*6/5 {
		t.Errorf("it is reconciled again after %s", e.RequeueAfter)
	}
	e.Clock.Step(signingkeys.DefaultPublication)
	e.verifies = false
	e.Run(4)
	e.expectKeys(hyperv1.SigningKeySwitch, 1, 0)
	e.verifies = true
	e.Run(4)
	e.expectKeys(hyperv1.SigningKeyRetain, 1, 0)
	e.ExpectCondition(hyperv1.ServiceAccountSigningKeyRotated, metav1.ConditionTrue, hyperv1.RetainingOldSigningKeysReason)
	e.Clock.Step(signingkeys.MaxTokenLife - time.Hour)
	e.Run(4)
	e.expectKeys(hyperv1.SigningKeyRetain, 1, 0)
	e.Clock.Step(time.Hour)
	e.Run(6)
	e.expectKeys("", 1)
	e.ExpectCondition(hyperv1.ServiceAccountSigningKeyRotated, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	for _, reason := range []string{"SigningKeyPublished", "SigningKeySwitched", "SigningKeyReplaced", "SigningKeyRetiring", "SigningKeyRetired"} {
		if !e.Events.Contains(reason) {
			t.Errorf("there is no event %s", reason)
		}
	}
	if hcp := e.HCP(); hcp.Annotations[hyperv1.RotateSigningKeyAnnotation] != "" {
		t.Error("the control plane is asked for a rotation")
	}
}

func (e *managementCluster) lookUpSigningKey() *metav1.Condition {
	for _, c := range testenv.Read(e.Env, privateCluster()).Status.Conditions {
		if c.Type == hyperv1.ServiceAccountSigningKeyRotated {
			return &c
		}
	}
	return nil
}

// No stage follows from facts that are missing.
func TestRotationOfTheSigningKeyWaits(t *testing.T) {
	for name, c := range map[string]struct {
		stop    func(*managementCluster)
		message string
	}{
		"for API servers":                {func(e *managementCluster) { e.verifies = false }, "waiting for the control-plane-operator to verify it"},
		"for a control-plane-operator":   {func(e *managementCluster) { e.silent = true }, "waiting for the control-plane-operator to verify it"},
		"for a bucket that is not there": {func(e *managementCluster) { e.AWS.Account(provider).RemoveBucket(bucket) }, "waiting for the documents"},
		"for a bucket that it cannot use": {func(e *managementCluster) {
			e.AWS.Fault(fakeaws.Fault{Service: fakeaws.S3, Kind: fakeaws.Denied, Times: fakeaws.Forever})
		}, "waiting for the documents"},
	} {
		t.Run(name, func(t *testing.T) {
			e := rotating(t)
			e.Run(6)
			c.stop(e)
			e.Clock.Step(2 * time.Hour) // the documents are read again
			e.annotate(hyperv1.RotateSigningKeyAnnotation, "1")
			for range 5 {
				e.RunFailing(3)
				e.Clock.Step(signingkeys.DefaultPublication)
			}
			if keys := e.keys(); keys.Signing.ID != idsOf(t, 0)[0] || keys.Stage() != hyperv1.SigningKeyPublish {
				t.Errorf("the keys are in stage %s", keys.Stage())
			}
			e.ExpectCondition(hyperv1.ServiceAccountSigningKeyRotated, metav1.ConditionFalse, hyperv1.PublishingSigningKeyReason, c.message)
		})
	}
	t.Run("while the cluster is paused", func(t *testing.T) {
		e := rotating(t)
		e.Run(6)
		e.annotate(hyperv1.RotateSigningKeyAnnotation, "1")
		e.Run(4)
		e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
		e.Clock.Step(signingkeys.DefaultPublication)
		e.Run(4)
		e.expectKeys(hyperv1.SigningKeyPublish, 0, 1)
		e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = nil })
		e.Run(6)
		e.expectKeys(hyperv1.SigningKeyRetain, 1, 0)
	})
	t.Run("when the documents were spoiled", func(t *testing.T) {
		e := rotating(t)
		e.Run(6)
		e.annotate(hyperv1.RotateSigningKeyAnnotation, "1")
		e.Run(4)
		e.AWS.Account(provider).RemoveBucket(bucket)
		e.AWS.Account(provider).AddBucket(region, bucket)
		e.Clock.Step(signingkeys.DefaultPublication)
		e.Run(4)
		e.expectKeys(hyperv1.SigningKeyPublish, 0, 1)
	})
}

func TestRetiredSigningKeyIsReplacedAtOnce(t *testing.T) {
	e := rotating(t)
	e.Run(6)
	e.annotate(hyperv1.RetireSigningKeyAnnotation, idsOf(t, 0)[0])
	e.Run(10)
	e.expectKeys("", 1)
	e.ExpectCondition(hyperv1.ServiceAccountSigningKeyRotated, metav1.ConditionTrue, hyperv1.AsExpectedReason)
	e.annotate(hyperv1.RetireSigningKeyAnnotation, "no such key")
	e.Run(2)
	e.expectKeys("", 1)
	e.ExpectCondition(hyperv1.ServiceAccountSigningKeyRotated, metav1.ConditionFalse, hyperv1.SigningKeyRequestInvalidReason, `"no such key"`)
}

// withUserKey is a cluster with a key of the user.
func withUserKey(t testing.TB) *managementCluster {
	e := newEmptyManagementCluster(t)
	e.useKeyPool()
	e.verifies = true
	hc := privateCluster()
	hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{Name: "my-key"}
	e.Create(testenv.PullSecret(), hc, &corev1.Secret{ObjectMeta: testenv.In("clusters", "my-key"), Data: map[string][]byte{"key": keyPool()[0]}})
	e.Run(6)
	return e
}

func (e *managementCluster) replaceUserKey(data map[string][]byte) {
	e.T.Helper()
	secret := &corev1.Secret{ObjectMeta: testenv.In("clusters", "my-key")}
	e.Change(secret, func() { secret.Data = data })
}

// Tokens of pods, of AWS and of the operators were signed with the key that the user replaces.
func TestReplacedKeyOfTheUserIsStillAccepted(t *testing.T) {
	for name, replace := range map[string]func(*managementCluster){
		"another content": func(e *managementCluster) { e.replaceUserKey(map[string][]byte{"key": keyPool()[1]}) },
		"another content, and the old public key": func(e *managementCluster) {
			public, err := webidentity.PublicFromPrivate(keyPool()[0])
			e.Must(err)
			e.replaceUserKey(map[string][]byte{"key": keyPool()[1], "old-key.pub": public})
		},
		"another Secret": func(e *managementCluster) {
			e.Create(&corev1.Secret{ObjectMeta: testenv.In("clusters", "other"), Data: map[string][]byte{"key": keyPool()[1]}})
			e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.ServiceAccountSigningKey.Name = "other" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := withUserKey(t)
			e.expectKeys("", 0)
			e.verifies = false // AWS and the API servers do not accept the new key
			replace(e)
			e.Run(3)
			e.Clock.Step(10 * signingkeys.DefaultPublication)
			e.Run(3)
			e.expectKeys(hyperv1.SigningKeyPublish, 0, 1)
			e.verifies = true
			e.Run(3)
			e.Clock.Step(signingkeys.DefaultPublication)
			e.Run(6)
			e.expectKeys(hyperv1.SigningKeyRetain, 1, 0)
		})
	}
}

func TestUnusableKeyOfTheUserLeavesTheKeysInUse(t *testing.T) {
	public, err := webidentity.PublicFromPrivate(keyPool()[1])
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{
		"rubbish": {"key": []byte("rubbish")}, "no key": {"other": nil}, "a public key": {"key": public}, "an unusable old key": {"key": keyPool()[1], "old-key.pub": []byte("rubbish")},
	} {
		t.Run(name, func(t *testing.T) {
			e := withUserKey(t)
			e.replaceUserKey(data)
			e.Run(3)
			e.expectKeys("", 0)
			e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "my-key")
		})
	}
	t.Run("a deleted Secret, during a rotation", func(t *testing.T) {
		e := withUserKey(t)
		e.replaceUserKey(map[string][]byte{"key": keyPool()[1]})
		e.Run(3)
		e.Delete(&corev1.Secret{ObjectMeta: testenv.In("clusters", "my-key")})
		e.Clock.Step(signingkeys.DefaultPublication)
		e.Run(6)
		e.expectKeys(hyperv1.SigningKeyRetain, 1, 0)
	})
}

// The further public key of the user is accepted as long as it is in the Secret.
func TestOldPublicKeyOfTheUserIsAccepted(t *testing.T) {
	e := withUserKey(t)
	public, err := webidentity.PublicFromPrivate(keyPool()[5])
	e.Must(err)
	e.replaceUserKey(map[string][]byte{"key": keyPool()[0], "old-key.pub": public})
	e.Run(2)
	e.expectKeys("", 0, 5)
	e.replaceUserKey(map[string][]byte{"key": keyPool()[0]})
	e.Run(2)
	e.expectKeys("", 0)
}

// A cache that is behind shows an earlier stage. A step that follows from it would drop a key that signs.
func TestStaleCacheDoesNotUndoAStageOfTheRotation(t *testing.T) {
	e := rotating(t)
	e.Run(6)
	before := &corev1.Secret{}
	e.Has(before, names.ServiceAccountSigningKey)
	e.annotate(hyperv1.RotateSigningKeyAnnotation, "1")
	e.Run(4)
	e.Clock.Step(signingkeys.DefaultPublication)
	e.Run(6)
	e.expectKeys(hyperv1.SigningKeyRetain, 1, 0)
	e.annotate(hyperv1.RotateSigningKeyAnnotation, "2")
	e.stale = before
	e.Restart()
	e.Run(3)
	if keys := e.keys(); keys.Signing.ID != idsOf(t, 1)[0] || len(keys.Old) != 1 {
		t.Errorf("the keys are %+v", keys.IDs())
	}
}

func TestDestroyedSigningKeyIsReported(t *testing.T) {
	e := rotating(t)
	e.Run(6)
	secret := &corev1.Secret{ObjectMeta: testenv.In(plane, names.ServiceAccountSigningKey)}
	e.verifies = false
	e.Change(secret, func() { secret.Data[names.ServiceAccountPrivateKeyFile] = []byte("rubbish") })
	e.Run(2)
	e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "does not hold the cluster's keys any more")
	e.Has(secret, names.ServiceAccountSigningKey)
	if string(secret.Data[names.ServiceAccountPrivateKeyFile]) != "rubbish" {
		t.Error("a key that nobody has was replaced, and no token is accepted")
	}
}

// keyTexts are the parts of a snapshot that have a key, or a time.
var keyTexts = regexp.MustCompile(`\bkey [A-Za-z0-9_-]{8}([A-Za-z0-9_-]{35})?|[A-Za-z0-9_-]{43}|loadedRevision: "?[0-9a-f]{16}"?|20\d\d-\d\d-\d\dT[0-9:]+Z|\bsha256:[0-9a-f]+|applied: "?[0-9a-f]{16}"?`)

// rotationScenario is a cluster whose user requests a rotation as soon as it runs, and whose keys are then in a stage.
func rotationScenario(request func(*managementCluster, *hyperv1.HostedCluster), until hyperv1.SigningKeyStage, accepted int) crashtest.Setup {
	return func(t testing.TB) *crashtest.Scenario {
		e := rotating(t)
		s := e.scenario()
		s.OtherControllers = func(ctx context.Context) error {
			hc := privateCluster()
			if err := e.Admin().Get(ctx, client.ObjectKeyFromObject(hc), hc); err == nil && hc.Annotations == nil && hc.DeletionTimestamp.IsZero() &&
				meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.HostedClusterAvailable) {
				hc.Annotations = map[string]string{}
				request(e, hc)
				if err := e.Admin().Update(ctx, hc); err != nil {
					return err
				}
			}
			return e.others(ctx)
		}
		s.Mask = func(text string) string { return keyTexts.ReplaceAllString(text, "...") }
		s.Ready = func(ctx context.Context) string {
			if waits := e.Ready(hyperv1.HostedClusterAvailable)(ctx); waits != "" {
				return waits
			}
			if keys := e.keys(); keys.Stage() != until || len(keys.IDs()) != accepted {
				return fmt.Sprintf("the rotation is in stage %s with keys %v", keys.Stage(), keys.IDs())
			}
			return ""
		}
		return s
	}
}

func TestCrashConsistencyOfARotation(t *testing.T) {
	rotates := rotationScenario(func(_ *managementCluster, hc *hyperv1.HostedCluster) {
		hc.Annotations[hyperv1.SigningKeyPublicationAnnotation], hc.Annotations[hyperv1.RotateSigningKeyAnnotation] = "40s", "1"
	}, hyperv1.SigningKeyRetain, 2)
	retires := rotationScenario(func(e *managementCluster, hc *hyperv1.HostedCluster) {
		hc.Annotations[hyperv1.RetireSigningKeyAnnotation] = e.keys().Signing.ID
	}, "", 1)
	t.Run("rotation", func(t *testing.T) { crashtest.CrashConsistency(t, rotates) })
	t.Run("retirement", func(t *testing.T) { crashtest.CrashConsistency(t, retires) })
	t.Run("leaks", func(t *testing.T) { crashtest.NoLeaks(t, rotates) })
	// The next stages need more passes than a trial has.
	publishes := rotationScenario(func(_ *managementCluster, hc *hyperv1.HostedCluster) {
		hc.Annotations[hyperv1.RotateSigningKeyAnnotation] = "1"
	}, hyperv1.SigningKeyPublish, 2)
	t.Run("faults", func(t *testing.T) {
		crashtest.APIFaults(t, func(t testing.TB) *crashtest.Scenario {
			s := publishes(t)
			// The objects of Cluster API come with the first node pool, and the first reads of each kind fail.
			s.MaxPasses = 70
			return s
		})
	})
}
