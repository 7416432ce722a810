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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx/kmskey"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/tokensigner"
	"github.com/hosted-control-planes/hypershift/test/crashtest"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	namespace = testenv.Namespace
	known     = "arn:aws:kms:us-east-1:123456789012:key/known"
)

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

// fakeKMS is a control plane with a key in AWS KMS.
type fakeKMS struct {
	*testenv.Env
	aws *keys

	reconciler *Reconciler
}

func newFakeKMS(t testing.TB) *fakeKMS {
	e := &fakeKMS{aws: &keys{refuses: map[string]error{}}, Env: testenv.New(t,
		testenv.WithObjects(testenv.Secret(names.ServiceAccountSigningKey, names.ServiceAccountPrivateKeyFile, "a key")),
		testenv.For(testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
			hcp.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{
				Provider: hyperv1.AWSKMS, AWS: &hyperv1.AWSKMSSpec{Region: testenv.Region, ActiveKey: hyperv1.AWSKMSKeyEntry{ARN: known}},
			}}
		}), &hyperv1.HostedControlPlaneList{}),
	)}
	e.Start = e.start
	return e
}

// start makes the probe anew and returns one pass of it.
func (e *fakeKMS) start() func(context.Context) error {
	signer := &tokensigner.Signer{Client: e.Client(), Namespace: namespace, Clock: e.Clock}
	e.reconciler = newReconciler(Options{
		Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Clock: e.Clock,
		Keys:     func(context.Context, *hyperv1.HostedControlPlane) (kmskey.API, error) { return e.aws, nil },
		KeyReady: signer.Ready,
	})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, e.reconciler.controller().ReconcileObject)
}

// says returns the condition after a pass of a new process.
func (e *fakeKMS) says() string {
	e.T.Helper()
	e.Restart()
	e.Once()
	return e.ConditionText(hyperv1.ValidAWSKMSConfig)
}

func TestWhatIsSaidOfAKey(t *testing.T) {
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "User: r is not authorized to perform this on " + known}
	for name, c := range map[string]struct {
		spoil func(*fakeKMS)
		want  string
	}{
		"it can be used": {func(*fakeKMS) {}, "True AsExpected: All is well"},
		"it does not exist": {
			func(e *fakeKMS) { e.change(func(kms *hyperv1.AWSKMSSpec) { kms.ActiveKey.ARN = known + "-not" }) },
			"False AWSNotFound: encrypting with key " + known + "-not: KMS Encrypt: NotFoundException: Key '" + known + "-not' does not exist",
		},
		"the role may not encrypt": {
			func(e *fakeKMS) { e.aws.refuses["Encrypt"] = denied },
			"False AWSAccessDenied: encrypting with key " + known + ": KMS Encrypt: AccessDeniedException: " + denied.Message,
		},
		"the role may encrypt and not decrypt": {
			func(e *fakeKMS) { e.aws.refuses["Decrypt"] = denied },
			"False AWSAccessDenied: decrypting with key " + known + ": KMS Decrypt: AccessDeniedException: " + denied.Message,
		},
		"nobody answers": {
			func(e *fakeKMS) { e.aws.refuses["Encrypt"] = errors.New("connection refused") },
			"Unknown AWSUnavailable: encrypting with key " + known + ": KMS Encrypt: no answer from AWS",
		},
		"nobody can ask yet": {func(e *fakeKMS) {
			e.Delete(testenv.Secret(names.ServiceAccountSigningKey, names.ServiceAccountPrivateKeyFile, "a key"))
		}, "Unknown WaitingForSigningKey: " + tokensigner.ErrNoKey.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeKMS(t)
			c.spoil(e)
			if got := e.says(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func (e *fakeKMS) change(change func(*hyperv1.AWSKMSSpec)) {
	e.T.Helper()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { change(hcp.Spec.SecretEncryption.KMS.AWS) })
}

// AWS cannot check a key of the cluster's own.
func TestNothingIsSaidOfWhatIsNotThere(t *testing.T) {
	e := newFakeKMS(t)
	e.says()
	e.ChangeHCP(func(hcp *hyperv1.HostedControlPlane) { hcp.Spec.SecretEncryption = nil })
	if got := e.says(); got != "nothing" {
		t.Errorf("it says %s", got)
	}
}

// Each use of the key costs money.
func TestResultIsKeptInMemory(t *testing.T) {
	e := newFakeKMS(t)
	check := func(want int, why string) {
		t.Helper()
		e.Once()
		if e.aws.calls != want {
			t.Errorf("%s: %d calls of KMS, want %d", why, e.aws.calls, want)
		}
	}
	check(2, "a new control plane")
	check(2, "nothing has changed")
	e.Clock.Step(interval)
	check(4, "the result is old")
	e.change(func(kms *hyperv1.AWSKMSSpec) { kms.Auth.AWSKMSRoleARN = "arn:aws:iam::222222222222:role/other" })
	check(6, "another role")
	e.change(func(kms *hyperv1.AWSKMSSpec) { kms.ActiveKey.ARN = known + "-not" })
	check(7, "another key, which does not exist")
	e.Clock.Step(retryAfter - time.Second)
	check(7, "a failure is still recent")
	e.Clock.Step(time.Second)
	check(8, "a failure is checked again")
	e.Restart()
	check(9, "another process")

	hcp := e.HCP()
	e.Delete(hcp)
	hcp.ResourceVersion, hcp.UID = "", ""
	e.Must(e.Admin().Create(t.Context(), hcp))
	check(10, "another control plane with the same name")
	e.Delete(hcp)
	_, err := e.reconciler.controller().Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(hcp)})
	e.Must(err)
	if len(e.reconciler.last) > 0 {
		t.Error("a result is known of a control plane that is gone")
	}
}

func TestTrial(t *testing.T) {
	begin := func(t testing.TB) *crashtest.Scenario {
		return newFakeKMS(t).Scenario(hyperv1.ValidAWSKMSConfig)
	}
	crashtest.CrashConsistency(t, begin)
	t.Run("under faults", func(t *testing.T) { crashtest.APIFaults(t, begin) })
}
