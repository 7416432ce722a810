package kmshealth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/tokensigner"
	"github.com/hosted-control-planes/hypershift/internal/awsx/kmskey"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	namespace = testenv.Namespace
	known     = "arn:aws:kms:us-east-1:123456789012:key/known"
)

var scheme = testenv.Scheme()

// keys is AWS KMS with one key.
type keys struct {
	// refuses maps an operation to the error that AWS returns.
	refuses map[string]error
	calls   int
}

func (k *keys) answer(operation string, arn *string) error {
	k.calls++
	err := k.refuses[operation]
	if err == nil && aws.ToString(arn) != known {
		err = &smithy.GenericAPIError{Code: "NotFoundException", Message: "Key '" + aws.ToString(arn) + "' does not exist"}
	}
	if err == nil {
		return nil
	}
	return &smithy.OperationError{ServiceID: "KMS", OperationName: operation, Err: err}
}

func (k *keys) Encrypt(_ context.Context, in *kms.EncryptInput, _ ...func(*kms.Options)) (*kms.EncryptOutput, error) {
	if err := k.answer("Encrypt", in.KeyId); err != nil {
		return nil, err
	}
	return &kms.EncryptOutput{CiphertextBlob: slices.Concat([]byte("sealed:"), in.Plaintext)}, nil
}

func (k *keys) Decrypt(_ context.Context, in *kms.DecryptInput, _ ...func(*kms.Options)) (*kms.DecryptOutput, error) {
	if err := k.answer("Decrypt", in.KeyId); err != nil {
		return nil, err
	}
	text, ours := bytes.CutPrefix(in.CiphertextBlob, []byte("sealed:"))
	if !ours {
		return nil, fmt.Errorf("%q was not encrypted here", in.CiphertextBlob)
	}
	return &kms.DecryptOutput{Plaintext: text}, nil
}

type world struct {
	*testenv.Env
	aws *keys

	reconciler *Reconciler
}

func newWorld(t testing.TB) *world {
	w := &world{aws: &keys{refuses: map[string]error{}}, Env: testenv.New(t, testenv.WithScheme(scheme), testenv.WithKinds(&hyperv1.HostedControlPlaneList{}), testenv.WithStatus(&hyperv1.HostedControlPlane{}))}
	w.Create(w.signingKey(), &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "demo"},
		Spec: hyperv1.HostedControlPlaneSpec{SecretEncryption: &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{
			Provider: hyperv1.AWSKMS, AWS: &hyperv1.AWSKMSSpec{Region: "us-east-1", ActiveKey: hyperv1.AWSKMSKeyEntry{ARN: known}},
		}}},
	})
	return w
}

func (w *world) signingKey() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.ServiceAccountSigningKey},
		Data:       map[string][]byte{names.ServiceAccountPrivateKeyFile: []byte("a key")},
	}
}

func (w *world) hcp() *hyperv1.HostedControlPlane {
	w.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	w.Must(w.Admin().Get(w.T.Context(), client.ObjectKey{Namespace: namespace, Name: "demo"}, hcp))
	return hcp
}

// start makes the probe anew and returns one pass of it.
func (w *world) start() func(context.Context) error {
	signer := &tokensigner.Signer{Client: w.Client(), Namespace: namespace, Clock: w.Clock}
	w.reconciler = newReconciler(Options{
		Client: w.Client(), Status: controlplanestatus.New(w.Client(), w.Client()), Clock: w.Clock,
		Keys:     func(context.Context, *hyperv1.HostedControlPlane) (kmskey.API, error) { return w.aws, nil },
		KeyReady: signer.Ready,
	})
	r := w.reconciler.controller()
	return func(ctx context.Context) error {
		list := &hyperv1.HostedControlPlaneList{}
		w.Must(w.Admin().List(ctx, list))
		for i := range list.Items {
			if err := w.RecordResult(r.ReconcileObject(ctx, &list.Items[i])); err != nil {
				return err
			}
		}
		return nil
	}
}

// says returns the condition in a line, or that it is absent.
func (w *world) says() string {
	w.T.Helper()
	w.Must(w.start()(w.T.Context()))
	c := meta.FindStatusCondition(w.hcp().Status.Conditions, hyperv1.ValidAWSKMSConfig)
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func TestWhatIsSaidOfAKey(t *testing.T) {
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "User: r is not authorized to perform this on " + known}
	for name, c := range map[string]struct {
		spoil func(*world)
		want  string
	}{
		"it can be used": {func(*world) {}, "True AsExpected: All is well"},
		"it does not exist": {
			func(w *world) { w.change(func(kms *hyperv1.AWSKMSSpec) { kms.ActiveKey.ARN = known + "-not" }) },
			"False AWSNotFound: encrypting with key " + known + "-not: KMS Encrypt: NotFoundException: Key '" + known + "-not' does not exist",
		},
		"the role may not encrypt": {
			func(w *world) { w.aws.refuses["Encrypt"] = denied },
			"False AWSAccessDenied: encrypting with key " + known + ": KMS Encrypt: AccessDeniedException: " + denied.Message,
		},
		"the role may encrypt and not decrypt": {
			func(w *world) { w.aws.refuses["Decrypt"] = denied },
			"False AWSAccessDenied: decrypting with key " + known + ": KMS Decrypt: AccessDeniedException: " + denied.Message,
		},
		"nobody answers": {
			func(w *world) { w.aws.refuses["Encrypt"] = errors.New("connection refused") },
			"Unknown AWSUnavailable: encrypting with key " + known + ": KMS Encrypt: no answer from AWS",
		},
		"nobody can ask yet": {func(w *world) { w.Must(w.Admin().Delete(w.T.Context(), w.signingKey())) }, "Unknown WaitingForSigningKey: " + tokensigner.ErrNoKey.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.spoil(w)
			if got := w.says(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func (w *world) change(edit func(*hyperv1.AWSKMSSpec)) {
	w.T.Helper()
	hcp := w.hcp()
	edit(hcp.Spec.SecretEncryption.KMS.AWS)
	w.Must(w.Admin().Update(w.T.Context(), hcp))
}

// AWS cannot check a key of the cluster's own.
func TestNothingIsSaidOfWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	w.says()
	hcp := w.hcp()
	hcp.Spec.SecretEncryption = nil
	w.Must(w.Admin().Update(t.Context(), hcp))
	if got := w.says(); got != "nothing" {
		t.Errorf("it says %s", got)
	}
}

// Each use of the key costs money.
func TestResultIsKeptInMemory(t *testing.T) {
	w := newWorld(t)
	pass := w.start()
	check := func(want int, why string) {
		t.Helper()
		w.Must(pass(t.Context()))
		if w.aws.calls != want {
			t.Errorf("%s: %d calls of KMS, want %d", why, w.aws.calls, want)
		}
	}
	check(2, "a new control plane")
	check(2, "nothing has changed")
	w.Clock.Step(interval)
	check(4, "the result is old")
	w.change(func(kms *hyperv1.AWSKMSSpec) { kms.Auth.AWSKMSRoleARN = "arn:aws:iam::222222222222:role/other" })
	check(6, "another role")
	w.change(func(kms *hyperv1.AWSKMSSpec) { kms.ActiveKey.ARN = known + "-not" })
	check(7, "another key, which does not exist")
	w.Clock.Step(retryAfter - time.Second)
	check(7, "a failure is still recent")
	w.Clock.Step(time.Second)
	check(8, "a failure is checked again")
	pass = w.start()
	check(9, "another process")

	hcp := w.hcp()
	w.Must(w.Admin().Delete(t.Context(), hcp))
	hcp.ResourceVersion, hcp.UID = "", ""
	w.Must(w.Admin().Create(t.Context(), hcp))
	check(10, "another control plane with the same name")
	w.Must(w.Admin().Delete(t.Context(), hcp))
	_, err := w.reconciler.controller().Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(hcp)})
	w.Must(err)
	if len(w.reconciler.last) > 0 {
		t.Error("a result is known of a control plane that is gone")
	}
}

func TestTrial(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario {
		w := newWorld(t)
		return &crashtest.Scenario{
			Cluster: w.Cluster, Cloud: func() string { return "" }, Start: w.start, Advance: w.Clock.Step,
			Delete: func(ctx context.Context) error { return w.Admin().Delete(ctx, w.hcp()) },
			Ready: func(context.Context) string {
				if !meta.IsStatusConditionTrue(w.hcp().Status.Conditions, hyperv1.ValidAWSKMSConfig) {
					return "nothing is said of the key"
				}
				return ""
			},
		}
	}
	crashtest.CrashConsistency(t, begin)
	t.Run("under faults", func(t *testing.T) { crashtest.APIFaults(t, begin) })
}
