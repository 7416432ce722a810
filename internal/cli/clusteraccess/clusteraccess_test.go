package clusteraccess

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
)

var demo = client.ObjectKey{Namespace: "clusters", Name: "demo"}

func hostedCluster(secret string) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: demo.Namespace, Name: demo.Name}}
	if secret != "" {
		hc.Status.KubeConfig = &corev1.LocalObjectReference{Name: secret}
	}
	return hc
}

func secretWith(t *testing.T, user *clientcmdapi.AuthInfo) *corev1.Secret {
	t.Helper()
	text, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: "https://api.demo.example.com:6443"}}, AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": user},
		Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: demo.Namespace, Name: "demo-admin-kubeconfig"}, Data: map[string][]byte{"kubeconfig": text}}
}

func TestKubeconfigHasTheNamesOfTheCluster(t *testing.T) {
	reader := fake.NewClientBuilder().WithScheme(clustertree.Scheme()).WithObjects(secretWith(t, &clientcmdapi.AuthInfo{Token: "t"})).Build()
	got, err := Kubeconfig(t.Context(), reader, hostedCluster("demo-admin-kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	if got.CurrentContext != "clusters-demo" || got.Contexts["clusters-demo"].AuthInfo != "clusters-demo-admin" || got.AuthInfos["clusters-demo-admin"].Token != "t" {
		t.Errorf("got %+v", got)
	}
	if err := Forwarded(got, 1234); err != nil {
		t.Fatal(err)
	}
	if c := got.Clusters["clusters-demo"]; c.Server != "https://127.0.0.1:1234" || c.TLSServerName != "api.demo.example.com" {
		t.Errorf("a forwarded port has server %s and name %s", c.Server, c.TLSServerName)
	}
}

func TestKubeconfigThatRunsAProgramIsRefused(t *testing.T) {
	program := &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: "sh", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}
	reader := fake.NewClientBuilder().WithScheme(clustertree.Scheme()).WithObjects(secretWith(t, program)).Build()
	if _, err := Kubeconfig(t.Context(), reader, hostedCluster("demo-admin-kubeconfig")); !errors.Is(err, kubeconfig.ErrNotSelfContained) {
		t.Errorf("got %v", err)
	}
}

func TestClusterWithoutKubeconfig(t *testing.T) {
	reader := fake.NewClientBuilder().WithScheme(clustertree.Scheme()).Build()
	for _, secret := range []string{"", "missing"} {
		if _, err := Kubeconfig(t.Context(), reader, hostedCluster(secret)); !errors.Is(err, ErrNoKubeconfig) {
			t.Errorf("Secret %q: %v", secret, err)
		}
	}
}

func one(name string) *clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + name}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: name}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	return c
}

func TestMergeKeepsOtherContextsAndTheCurrentOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	for _, name := range []string{"management", "demo", "demo"} {
		if _, err := Merge(path, one(name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.CurrentContext != "management" || len(got.Contexts) != 2 || got.AuthInfos["demo"].Token != "demo" {
		t.Errorf("current context %s of %d", got.CurrentContext, len(got.Contexts))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: other users can read the file", info.Mode(), err)
	}
}

func TestDialNeedsAReadyPod(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: "kube-apiserver-1", Labels: map[string]string{"app": "kube-apiserver"}}}
	reader := fake.NewClientBuilder().WithScheme(clustertree.Scheme()).WithObjects(pod).Build()
	if _, err := Dial(t.Context(), reader, &rest.Config{}, demo); err == nil || !strings.Contains(err.Error(), "is ready") {
		t.Errorf("got %v", err)
	}
}
