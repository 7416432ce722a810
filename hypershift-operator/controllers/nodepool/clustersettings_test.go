package nodepool

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// previousVersion loads the objects of a node pool at rest and of its cluster, as the last version wrote them that stored only
// the configuration of the pool. The file is a record: no newer version can write it again.
func previousVersion(t *testing.T) *fakeClusterAPI {
	t.Helper()
	text, err := os.ReadFile("testdata/previous-version.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e := newEmptyFakeClusterAPI(t)
	e.Create(nodepooltest.HostedCluster(), namespace(), testenv.PullSecret(), capiDeployment())
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	for _, document := range bytes.Split(text, []byte("---\n")) {
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		decoded, _, err := decoder.Decode(document, nil, nil)
		e.Must(err)
		obj := decoded.(client.Object)
		created := obj.DeepCopyObject().(client.Object)
		e.Must(e.Admin().Create(t.Context(), created))
		obj.SetResourceVersion(created.GetResourceVersion())
		if err := e.Admin().Status().Update(t.Context(), obj); client.IgnoreNotFound(err) != nil { // a kind without status is not found
			t.Fatal(err)
		}
	}
	return e
}

func TestAnUpgradeStoresTheClusterSettingsAndReplacesNoMachine(t *testing.T) {
	e := previousVersion(t)
	before, templates := machineNames(t, e), testenv.Listed(e.Env, &hyperv1.NodeBootstrapTemplateList{}).Items
	if len(before) != 2 || len(templates) != 1 {
		t.Fatalf("machines %v, %d templates: this is not a pool at rest", before, len(templates))
	}
	name := templates[0].Spec.Template.Spec.ConfigName
	read := func() map[string][]byte {
		secret := &corev1.Secret{}
		e.Must(e.Admin().Get(t.Context(), client.ObjectKey{Namespace: plane, Name: name}, secret))
		return secret.Data
	}
	if old := read(); len(old) != 1 {
		t.Fatalf("the Secret has the keys %v already", slices.Collect(maps.Keys(old)))
	}
	e.Restart()
	for range 5 {
		e.Once()
		e.ExpectConditions(map[string]string{"UpdatingConfig": "False AsExpected", "UpdatingVersion": "False AsExpected", "UpdatingPlatformMachineTemplate": "False AsExpected"})
	}
	e.Settle()
	e.ExpectConditions(map[string]string{"Ready": "True AsExpected 2 nodes"})
	if diff := cmp.Diff(before, machineNames(t, e)); diff != "" {
		t.Errorf("machines (-before +after):\n%s", diff)
	}
	in, err := nodeconfig.Decode(read())
	if err != nil {
		t.Fatalf("the settings of the cluster are not stored (%v)", err)
	}
	want := nodeconfig.Inputs{
		Pool: nodeconfig.Config{Kubelet: map[string]any{"maxPods": int64(100)}},
		Cluster: nodeconfig.ClusterSettings{
			MachineNetworks: []string{"10.0.0.0/16"}, PodNetworks: []string{"10.132.0.0/14"}, ServiceNetworks: []string{"172.31.0.0/16"},
			Proxy:       nodeconfig.Proxy{HTTPS: "http://proxy:3128", NoProxy: "example.com", TrustedCA: nodeconfig.Source{Name: "copied-proxy-ca", Text: "proxy\n"}},
			TrustBundle: nodeconfig.Source{Name: "my-bundle", Text: "bundle\n"},
			SSHKey:      nodeconfig.Source{Name: "my-key", Text: "ssh-ed25519 AAAA me\n"},
		},
	}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("stored inputs (-want +got):\n%s", diff)
	}
}

func TestNewTextInTheSameSourceIsStoredForNewMachines(t *testing.T) {
	e := previousVersion(t)
	e.Restart()
	e.Settle()
	before := machineNames(t, e)
	testenv.Change(e.Env, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.UserCABundle}}, func(cm *corev1.ConfigMap) {
		cm.Data["ca-bundle.crt"] = "new\n"
	})
	e.Settle()
	if diff := cmp.Diff(before, machineNames(t, e)); diff != "" {
		t.Errorf("machines (-before +after):\n%s", diff)
	}
	name := testenv.Listed(e.Env, &hyperv1.NodeBootstrapTemplateList{}).Items[0].Spec.Template.Spec.ConfigName
	secret := &corev1.Secret{}
	e.Must(e.Admin().Get(t.Context(), client.ObjectKey{Namespace: plane, Name: name}, secret))
	if in, err := nodeconfig.Decode(secret.Data); err != nil || in.Cluster.TrustBundle.Text != "new\n" {
		t.Errorf("a new machine would get %+v (%v)", in.Cluster, err)
	}
}
