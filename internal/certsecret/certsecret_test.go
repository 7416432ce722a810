package certsecret_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/hosted-control-planes/hypershift/internal/certsecret"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

func secret(name string, data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "plane", Name: name, ResourceVersion: "7"}, Data: data}
}

func TestAPartHasTheKeysOfAnOwnSecret(t *testing.T) {
	shared, want := map[string][]byte{}, map[string][]byte{"tls.crt": []byte("1"), "ca.crt": []byte("2")}
	certsecret.Put(shared, names.APIServerCertificate, want)
	certsecret.Put(shared, names.APIServerPrivateCertificate, map[string][]byte{"tls.crt": []byte("of another one")})
	if d := cmp.Diff(want, certsecret.Part(shared, names.APIServerCertificate)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if part := certsecret.Part(shared, names.KubeletClientCertificate); part != nil {
		t.Errorf("a certificate that is not in it has %v", part)
	}
}

func TestSharedSecretsAreOfNewControlPlanes(t *testing.T) {
	for name, c := range map[string]struct {
		exist []string
		want  bool
	}{
		"a new control plane":                       {nil, true},
		"one whose other Secrets exist already":     {[]string{names.PullSecret, names.ServiceAccountSigningKey, names.ClientSigner}, true},
		"one of an earlier version":                 {[]string{names.RootCA, names.EtcdSigner}, false},
		"one of an earlier version without its CA":  {[]string{names.KonnectivitySigner}, false},
		"one that shares":                           {[]string{certsecret.Authorities}, true},
		"one that shares, beside a Secret of users": {[]string{certsecret.Authorities, names.RootCA}, true},
	} {
		secrets := map[string]*corev1.Secret{}
		for _, s := range c.exist {
			secrets[s] = secret(s, nil)
		}
		if got := certsecret.AreShared(secrets); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestGetReadsSharedAndOwnSecrets(t *testing.T) {
	own := secret(names.SchedulerKubeconfig, map[string][]byte{"kubeconfig": []byte("own")})
	shared := secret(certsecret.Scheduler, map[string][]byte{"kube-scheduler-kubeconfig.kubeconfig": []byte("shared")})
	others := secret(certsecret.Scheduler, map[string][]byte{"scheduler-server-tls.tls.crt": []byte("another")})
	for name, c := range map[string]struct {
		exist []client.Object
		want  string
	}{
		"in a shared one":                  {[]client.Object{shared}, "shared"},
		"in its own":                       {[]client.Object{own}, "own"},
		"the shared one counts":            {[]client.Object{own, shared}, "shared"},
		"a shared one does not have it":    {[]client.Object{own, others}, "own"},
		"neither has it":                   {[]client.Object{others}, ""},
		"there is neither of both Secrets": {nil, ""},
	} {
		var objs []client.Object
		for _, obj := range c.exist {
			objs = append(objs, obj.DeepCopyObject().(client.Object))
		}
		reader, got := fake.NewClientBuilder().WithObjects(objs...).Build(), &corev1.Secret{}
		err := certsecret.Get(t.Context(), reader, client.ObjectKeyFromObject(own), got)
		switch {
		case c.want == "":
			if !apierrors.IsNotFound(err) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || got.Name != own.Name || string(got.Data["kubeconfig"]) != c.want:
			t.Errorf("%s: %s has %q, %v", name, got.Name, got.Data, err)
		}
	}
}

// Secrets that users and other programs know by name.
func TestWhatOthersReadIsNotShared(t *testing.T) {
	for _, name := range []string{
		names.AdminKubeconfig, names.CustomAdminKubeconfig, names.ClusterKubeconfig("demo"), names.ServiceAccountSigningKey, names.ClientSigner, names.ClusterSignerCA,
		names.EtcdClientCertificate, names.PullSecret,
	} {
		if in := certsecret.SharedBy(name); in != "" {
			t.Errorf("%s is in %s", name, in)
		}
	}
}
