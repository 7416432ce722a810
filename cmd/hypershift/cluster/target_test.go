package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/management"
	"github.com/hosted-control-planes/hypershift/cmd/hypershift/operation"
)

func requestOf(t *testing.T, args ...string) (Request, error) {
	t.Helper()
	var f flags
	c := &cobra.Command{}
	f.add(c)
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	f.cluster.Namespace = "clusters"
	return f.request()
}

func TestARequestReportsAllProblemsOfItsFlags(t *testing.T) {
	_, err := requestOf(t, "--name=demo", "--annotations=novalue", "--toleration=effect", "--etcd-encryption-key-file=/dev/null", "--iam-json=/nowhere",
		"--oidc-issuer-url=https://a", "--oidc-storage-provider-s3-bucket-name=b")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`--annotations: "novalue" is not key=value`, "--etcd-encryption-key-file: the file has no key", "--iam-json needs --infra-json",
		"--oidc-issuer-url and --oidc-storage-provider-s3-bucket-name exclude each other", "--oidc-issuer-url has no effect with --iam-json",
		"--iam-json: open /nowhere",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

// A request is a value: another one from the same flags is the same.
func TestARequestDoesNotChangeItsFlags(t *testing.T) {
	var f flags
	c := &cobra.Command{}
	f.add(c)
	if err := c.ParseFlags([]string{"--name=demo", "--toleration=key=a,operator=Exists", "--additional-tags=team=a"}); err != nil {
		t.Fatal(err)
	}
	first, err := f.request()
	if err != nil {
		t.Fatal(err)
	}
	second, err := f.request()
	if err != nil || len(second.Cluster.Tolerations) != 1 || len(f.cluster.Tolerations) != 0 || f.network.Name != "" {
		t.Errorf("tolerations %v, of the flags %v, name %q, %v", second.Cluster.Tolerations, f.cluster.Tolerations, f.network.Name, err)
	}
	if diff := cmp.Diff(first.Cluster.ResourceTags, second.Cluster.ResourceTags); diff != "" {
		t.Error(diff)
	}
}

func TestTheInfraIDIsThatOfTheClusterOrOfAnEarlierRun(t *testing.T) {
	hostedCluster := func(change func(*hyperv1.HostedCluster)) *hyperv1.HostedCluster {
		hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}, Spec: hyperv1.HostedClusterSpec{InfraID: "demo-exists"}}
		if change != nil {
			change(hc)
		}
		return hc
	}
	recorded := &record{Server: "https://here", InfraID: "demo-begun", Zones: []string{"us-east-1b"}}
	for name, c := range map[string]struct {
		infraID string
		hc      *hyperv1.HostedCluster
		record  *record
		want    identity
		refused string
	}{
		"a new cluster with the ID of the flag":               {infraID: "mine", want: identity{infraID: "mine"}},
		"a cluster that exists":                               {hc: hostedCluster(nil), want: identity{infraID: "demo-exists", continued: true}},
		"a cluster that exists with another ID than the flag": {infraID: "mine", hc: hostedCluster(nil), refused: "its infra ID is demo-exists, not mine"},
		"a cluster that is being deleted": {hc: hostedCluster(func(hc *hyperv1.HostedCluster) {
			hc.Finalizers, hc.DeletionTimestamp = []string{"a/b"}, &metav1.Time{Time: metav1.Now().Time}
		}), refused: "is being deleted"},
		"a cluster that an earlier run has begun":     {record: recorded, want: identity{infraID: "demo-begun", continued: true, zones: []string{"us-east-1b"}}},
		"a cluster that was begun somewhere else":     {record: &record{Server: "https://there", InfraID: "demo-begun"}, refused: "in the management cluster https://there, not https://here"},
		"another ID than that of the run that began ": {infraID: "mine", record: recorded, want: identity{infraID: "mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			utilruntime.Must(corev1.AddToScheme(scheme))
			utilruntime.Must(hyperv1.AddToScheme(scheme))
			b := fake.NewClientBuilder().WithScheme(scheme)
			if c.hc != nil {
				b.WithObjects([]client.Object{c.hc}...)
			}
			env := operation.Environment{StateHome: t.TempDir()}
			if c.record != nil {
				if err := c.record.save(env, "clusters", "demo"); err != nil {
					t.Fatal(err)
				}
			}
			r, err := requestOf(t, "--name=demo", "--infra-id="+c.infraID)
			if err != nil {
				t.Fatal(err)
			}
			got, err := identify(t.Context(), env, &management.API{Client: b.Build(), Server: "https://here"}, r)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got %v, want %q", err, c.refused)
				}
				return
			}
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(identity{})); err != nil || diff != "" {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}
