package objects

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/connection"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func dockerSecret(namespace, name, text string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(text)}}
}

func TestCredentialsOfUsersAreAdded(t *testing.T) {
	const own = `{"auths":{"quay.io":{"auth":"b3du"}}}`
	for name, c := range map[string]struct {
		own, additional string
		want            string
		status          metav1.ConditionStatus
		words           string
	}{
		"a registry of the user":    {own, `{"auths":{"ghcr.io":{"auth":"dXNlcg=="}}}`, `{"auths":{"ghcr.io":{"auth":"dXNlcg=="},"quay.io":{"auth":"b3du"}}}`, "True", "for ghcr.io"},
		"user name and password":    {own, `{"auths":{"ghcr.io":{"username":"u","password":"p"}}}`, `{"auths":{"ghcr.io":{"username":"u","password":"p"},"quay.io":{"auth":"b3du"}}}`, "True", "for ghcr.io"},
		"a registry of the cluster": {own, `{"auths":{"quay.io":{"auth":"dXNlcg=="}}}`, own, "True", "precedence for quay.io"},
		"the cluster has none":      {"", `{"auths":{"ghcr.io":{"auth":"dXNlcg=="}}}`, `{"auths":{"ghcr.io":{"auth":"dXNlcg=="}}}`, "True", "for ghcr.io"},
		"not JSON":                  {own, `ghcr.io: secret`, own, "False", "is not valid JSON"},
		"nothing":                   {own, ``, own, "False", "no key .dockerconfigjson"},
		"no auths":                  {own, `{"ghcr.io":{"auth":"dXNlcg=="}}`, own, "False", "has no auths"},
		"an entry without content":  {own, `{"auths":{"ghcr.io":{}}}`, own, "False", "no credentials for ghcr.io"},
		"an entry of another form":  {own, `{"auths":{"ghcr.io":"dXNlcg=="}}`, own, "False", "no credentials for ghcr.io"},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := controlPlane()
			management := fake.NewClientBuilder().WithScheme(scheme)
			if c.own != "" {
				hcp.Spec.PullSecret.Name = names.PullSecret
				management = management.WithObjects(dockerSecret(namespace, names.PullSecret, c.own))
			}
			b := &Builder{
				Options: Options{Client: management.Build(), Clock: clocktesting.NewFakeClock(time.Now())}, HCP: hcp,
				Cluster: &connection.Cluster{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
					dockerSecret(metav1.NamespaceSystem, names.AdditionalPullSecret, c.additional)).Build()},
			}
			objs, err := desiredPullSecret(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(objs[0].(*corev1.Secret).Data[corev1.DockerConfigJsonKey]); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			a, err := b.AdditionalPullSecret(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Condition(); got.Status != c.status || !strings.Contains(got.Message, c.words) || strings.Contains(got.Message, "secret:") {
				t.Errorf("%s: %s", got.Status, got.Message)
			}
		})
	}
}

// Without an answer of the hosted cluster, the credentials stay as they are.
func TestUnknownCredentialsOfUsersChangeNothing(t *testing.T) {
	unavailable := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return errors.New("the API server does not answer")
	}}
	b := &Builder{
		Options: Options{Client: fake.NewClientBuilder().WithScheme(scheme).Build()}, HCP: controlPlane(),
		Cluster: &connection.Cluster{Client: fake.NewClientBuilder().WithInterceptorFuncs(unavailable).Build()},
	}
	if objs, err := desiredPullSecret(t.Context(), b); err == nil {
		t.Errorf("%d objects are desired", len(objs))
	}
}
