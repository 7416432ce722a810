//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// TestKeysOfTokens rotates the key of service account tokens while tokens of each stage are used at the API server and in AWS, and then
// retires a key at once.
func TestKeysOfTokens(t *testing.T) {
	begin(t)
	k := &tokenKeys{hosted: newHosted(t, "tokenkeys", on.Versions[0])}
	k.hc.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	// STS of the lab keeps public keys for a minute.
	k.hc.Annotations = map[string]string{hyperv1.SigningKeyPublicationAnnotation: "90s"}
	k.create()
	k.available()
	k.waitForCondition(hyperv1.ValidAWSIdentityProvider, "True")
	first := k.signs()
	k.issue("before")
	check, others := k.staysAvailable(), k.load()
	began := time.Now()
	await := func(what string, ends func(*hyperv1.ServiceAccountSigningKeyStatus) bool) {
		k.eventually(what, func(ctx context.Context) error {
			k.accepted() // all the time
			pause(ctx, time.Second)
			if err := k.management.Get(ctx, key(k.hc), k.hc); err != nil {
				return err
			}
			if st := k.hc.Status.ServiceAccountSigningKey; st == nil || !ends(st) {
				return fmt.Errorf("the status is %+v; the control plane reports %s", st, k.reported(ctx))
			}
			return nil
		})
		t.Logf("%.0f s: %s", time.Since(began).Seconds(), what)
		k.issue(what)
		k.accepted()
	}
	isIn := func(stage hyperv1.SigningKeyStage) func(*hyperv1.ServiceAccountSigningKeyStatus) bool {
		return func(st *hyperv1.ServiceAccountSigningKeyStatus) bool { return st.Stage == stage }
	}
	isNot := func(id string) func(*hyperv1.ServiceAccountSigningKeyStatus) bool {
		return func(st *hyperv1.ServiceAccountSigningKeyStatus) bool { return st.KeyID != id }
	}
	k.change(func(hc *hyperv1.HostedCluster) {
		hc.Annotations[hyperv1.RotateSigningKeyAnnotation] = began.Format(time.RFC3339)
	})
	await("the new key is published", isIn(hyperv1.SigningKeyPublish))
	await("the new key signs", isNot(first))
	await("all programs sign with the new key", isIn(hyperv1.SigningKeyRetain))
	second := k.signs()
	if second == first {
		t.Errorf("tokens are signed with key %s as before", first)
	}
	k.waitForCondition(hyperv1.ServiceAccountSigningKeyRotated, "True", "until they have expired")
	k.waitForCondition(hyperv1.ValidAWSIdentityProvider, "True")

	// The first key is retired before its tokens expire, and the second one at once, as if it had leaked.
	for _, leaked := range []string{first, second} {
		var old []issued
		if leaked == first {
			old = k.take(leaked)
		}
		k.change(func(hc *hyperv1.HostedCluster) { hc.Annotations[hyperv1.RetireSigningKeyAnnotation] = leaked })
		if leaked == second {
			await("another key signs", isNot(leaked))
			old = k.take(leaked)
		}
		k.waitForCondition(hyperv1.ServiceAccountSigningKeyRotated, "True", "no old key is accepted")
		t.Logf("%.0f s: key %s is retired", time.Since(began).Seconds(), leaked)
		k.issue("after")
		k.accepted()
		k.eventually("tokens of the key are refused", func(context.Context) error { return k.refused(old) })
	}
	if signs := k.signs(); signs == first || signs == second {
		t.Errorf("tokens are signed with the retired key %s", signs)
	}
	k.waitForCondition(hyperv1.ValidAWSIdentityProvider, "True")
	k.eventually("the control plane is rolled out", k.rolledOut)
	others.Stop()
	if got := others.Count(); got.Asked == 0 || got.Failed > 0 {
		t.Errorf("requests of others: %v", got)
	}
	check()
}

// tokenKeys is a cluster with tokens of several keys.
type tokenKeys struct {
	*hosted
	tokens []issued
}

// issued are tokens of one moment, for the API server and for AWS.
type issued struct{ when, api, aws string }

// issue requests tokens.
func (k *tokenKeys) issue(when string) {
	k.t.Helper()
	i := issued{when: when}
	for audience, token := range map[string]*string{"": &i.api, names.WebIdentityAudience: &i.aws} {
		args := []string{"create", "token", "default", "-n", "default"}
		if audience != "" {
			args = append(args, "--audience="+audience)
		}
		k.eventually("a token is issued", func(ctx context.Context) error {
			out, err := on.Kubectl(ctx, k.kubeconfig, "", args...)
			*token = strings.TrimSpace(out)
			return err
		})
	}
	k.tokens = append(k.tokens, i)
}

// take returns the tokens of a key, and removes them from those that have to be accepted.
func (k *tokenKeys) take(id string) (old []issued) {
	k.t.Helper()
	k.tokens = slices.DeleteFunc(k.tokens, func(i issued) bool {
		if webidentity.KeyIDOf([]byte(i.api)) != id {
			return false
		}
		old = append(old, i)
		return true
	})
	if len(old) == 0 {
		k.t.Fatalf("there is no token of key %s", id)
	}
	return old
}

// signs returns the ID of the key with which tokens are signed.
func (k *tokenKeys) signs() string {
	k.t.Helper()
	k.issue("now")
	last := len(k.tokens) - 1
	id := webidentity.KeyIDOf([]byte(k.tokens[last].api))
	if id == "" {
		k.t.Fatal("the token has no key ID")
	}
	k.tokens = k.tokens[:last]
	return id
}

// accepted fails the test if a token is refused that has not expired. A connection may break when an API server stops.
func (k *tokenKeys) accepted() {
	k.t.Helper()
	for _, i := range k.tokens {
		for attempt := 0; ; attempt++ {
			err := k.use(i)
			if err == nil {
				break
			}
			if apierrors.IsUnauthorized(err) || awsx.Code(err) == "InvalidIdentityToken" || attempt > 10 {
				k.t.Fatalf("a token of %q: %v", i.when, err)
			}
			pause(k.t.Context(), time.Second)
		}
	}
}

// refused returns an error unless all tokens are refused.
func (k *tokenKeys) refused(tokens []issued) error {
	for _, i := range tokens {
		if err := k.useAPI(i.api); !apierrors.IsUnauthorized(err) {
			return fmt.Errorf("the API server answers %w to a token of %q", errOrNone(err), i.when)
		}
		if err := k.useAWS(i.aws); awsx.Code(err) != "InvalidIdentityToken" {
			return fmt.Errorf("AWS answers %w to a token of %q", errOrNone(err), i.when)
		}
	}
	return nil
}

var errNone = errors.New("no error")

func errOrNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

func (k *tokenKeys) use(i issued) error {
	if err := k.useAPI(i.api); err != nil {
		return fmt.Errorf("the API server: %w", err)
	}
	// No role trusts the service account: AWS has accepted its token if it denies the role.
	if err := k.useAWS(i.aws); awsx.Code(err) != "AccessDenied" {
		return fmt.Errorf("AWS: %w", errOrNone(err))
	}
	return nil
}

func (k *tokenKeys) useAPI(token string) error {
	config, err := clientcmd.BuildConfigFromFlags("", k.kubeconfig)
	if err != nil {
		return err
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token
	c, err := client.New(config, client.Options{Scheme: k.management.Scheme()})
	if err != nil {
		return err
	}
	return c.Create(k.t.Context(), &authenticationv1.SelfSubjectReview{})
}

func (k *tokenKeys) useAWS(token string) error {
	api := sts.NewFromConfig(aws.Config{Region: k.hc.Spec.Platform.AWS.Region, BaseEndpoint: aws.String(on.AWS.URL)})
	_, err := api.AssumeRoleWithWebIdentity(k.t.Context(), &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: aws.String(string(k.hc.Spec.Platform.AWS.RolesRef.ControlPlaneOperatorARN)), RoleSessionName: aws.String("tokens"), WebIdentityToken: aws.String(token),
	})
	return err
}

// reported is the report of the control-plane-operator, for the message of a failure.
func (k *tokenKeys) reported(ctx context.Context) string {
	hcp := &hyperv1.HostedControlPlane{}
	if err := k.management.Get(ctx, client.ObjectKey{Namespace: k.namespace(), Name: k.hc.Name}, hcp); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", hcp.Status.ServiceAccountKeys)
}
