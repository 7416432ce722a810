package velerobackup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/clusterbundle"
)

// archive is a backup with these files.
func archive(t *testing.T, files map[string]string) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, hyperv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// files are a backup of the namespaces clusters and clusters-demo, in the layout of Velero's documentation.
var files = map[string]string{
	"metadata/version": "1.1.0",
	"resources/hostedclusters.hypershift.openshift.io/namespaces/clusters/demo.json": `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"HostedCluster",
		"metadata":{"name":"demo","namespace":"clusters","uid":"old"},"spec":{"infraID":"demo-x7k2p","pullSecret":{"name":"pull"}},"status":{}}`,
	"resources/nodepools.hypershift.openshift.io/namespaces/clusters/workers.json": `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool",
		"metadata":{"name":"workers","namespace":"clusters"},"spec":{"clusterName":"demo"}}`,
	"resources/secrets/namespaces/clusters/pull.json":                   `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"pull","namespace":"clusters"},"data":{".dockerconfigjson":"e30="}}`,
	"resources/secrets/namespaces/clusters-demo/cluster-signer-ca.json": `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"cluster-signer-ca","namespace":"clusters-demo"},"data":{"ca.key":"eA=="}}`,
	"resources/hostedcontrolplanes.hypershift.openshift.io/namespaces/clusters-demo/demo.json": `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"HostedControlPlane",
		"metadata":{"name":"demo","namespace":"clusters-demo","uid":"plane-of-the-source","annotations":{"hypershift.openshift.io/cluster":"clusters/demo"}}}`,
	"resources/machines.cluster.x-k8s.io/namespaces/clusters-demo/demo-1.json": `{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Machine",
		"metadata":{"name":"demo-1","namespace":"clusters-demo","ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet","name":"a","uid":"1"}]},"spec":{"providerID":"aws:///us-east-1a/i-1"}}`,
	"resources/awsmachines.infrastructure.cluster.x-k8s.io/v1beta2-preferredversion/namespaces/clusters-demo/demo-1.json": `{"apiVersion":"infrastructure.cluster.x-k8s.io/v1beta2","kind":"AWSMachine",
		"metadata":{"name":"demo-1","namespace":"clusters-demo"},"spec":{"instanceID":"i-1"}}`,
	"resources/hcpetcdbackups.hypershift.openshift.io/namespaces/clusters-demo/nightly.json": `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"HCPEtcdBackup",
		"metadata":{"name":"nightly","namespace":"clusters-demo"},"spec":{},"status":{"objectKey":"prod/demo/nightly.db","snapshot":{"sizeBytes":1},
		"conditions":[{"type":"BackupCompleted","status":"True","reason":"BackupSucceeded","message":"","lastTransitionTime":"2026-11-29T00:00:00Z"}]}}`,
	"resources/namespaces/cluster/clusters.json": `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"clusters"}}`,
}

// What Velero saves of both namespaces is all that a cluster is made of, besides etcd.
func TestBackupHasAllObjectsOfACluster(t *testing.T) {
	b, err := Open(archive(t, files), scheme(t))
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := clusterbundle.Collect(t.Context(), b, client.ObjectKey{Namespace: "clusters", Name: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, obj := range append(bundle.State, bundle.Machines...) {
		found = append(found, obj.GetKind()+" "+obj.GetName())
	}
	const want = "Secret pull, HostedCluster demo, NodePool workers, Secret cluster-signer-ca, Machine demo-1, AWSMachine demo-1, HCPEtcdBackup nightly"
	if got := strings.Join(found, ", "); got != want {
		t.Errorf("the objects are %s, want %s", got, want)
	}
	if bundle.EndpointOwner != "plane-of-the-source" {
		t.Errorf("the owner of the endpoints is %q", bundle.EndpointOwner)
	}
}

func TestOtherFilesAreRejected(t *testing.T) {
	for name, tc := range map[string]struct {
		file *bytes.Buffer
		want string
	}{
		"not an archive":    {bytes.NewBufferString("PK"), "this is not a backup of Velero"},
		"another archive":   {archive(t, map[string]string{"etc/passwd": "root"}), "it is not a backup of Velero"},
		"an object is torn": {archive(t, map[string]string{"resources/secrets/namespaces/a/b.json": `{"kind":`}), "resources/secrets/namespaces/a/b.json"},
	} {
		if _, err := Open(tc.file, scheme(t)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	b, err := Open(archive(t, files), scheme(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "another"}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object that is not in the backup: %v", err)
	}
}
