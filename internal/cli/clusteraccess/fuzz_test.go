package clusteraccess

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A kubeconfig of the management cluster becomes one context of the user's kubeconfig: no other context, and no program that kubectl would
// run.
func FuzzKubeconfig(f *testing.F) {
	const head = "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
	for _, text := range []string{
		head + "clusters: [{name: c, cluster: {server: 'https://a:6443'}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]",
		head + "clusters: [{name: c, cluster: {server: 'https://a', proxy-url: 'http://p'}}]\nusers: []\ncontexts: [{name: x, context: {cluster: c}}]",
		head + "clusters: [{name: c}]\nusers: [{name: u}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]",
		head + "clusters: [{name: c, cluster: {server: 'https://a'}}]\nusers: [{name: u, user: {token: t}}, {name: e, user: {exec: {command: sh, apiVersion: v1}}}]\n" +
			"contexts: [{name: x, context: {cluster: c, user: u}}, {name: y, context: {cluster: c, user: e}}]",
		head + "clusters: [{name: c, cluster: {server: ':'}}]\ncontexts: [{name: x, context: {cluster: c}}]", "", "contexts: null",
		head + "clusters: [{name: c, cluster: {server: 'https://a'}}]\nusers: [{name: u, user: {token: t, as: root, as-groups: [system:masters]}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nextensions: [{name: e, extension: {a: b}}]",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "admin"}, Data: map[string][]byte{names.AdminKubeconfigFile: text}}
		hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo"}}
		hc.Status.KubeConfig = &corev1.LocalObjectReference{Name: "admin"}
		config, err := Kubeconfig(t.Context(), fake.NewClientBuilder().WithObjects(secret).Build(), hc)
		if err != nil {
			if !strings.Contains(err.Error(), "Secret clusters/admin") {
				t.Errorf("the error names no Secret: %v", err)
			}
			return
		}
		if err := Forwarded(config, 6443); err != nil {
			return
		}
		path := filepath.Join(t.TempDir(), "config")
		if _, err := Merge(path, config); err != nil {
			t.Fatal(err)
		}
		merged, err := clientcmd.LoadFromFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(merged.Contexts) != 1 || len(merged.Clusters) != 1 || len(merged.AuthInfos) > 1 || merged.CurrentContext != "clusters-demo" {
			t.Errorf("merged %+v", merged)
		}
		for _, cluster := range merged.Clusters {
			if cluster.Server != "https://127.0.0.1:6443" || cluster.ProxyURL != "" {
				t.Errorf("leads to %s through %q", cluster.Server, cluster.ProxyURL)
			}
		}
		for _, user := range merged.AuthInfos {
			if user.Exec != nil || user.AuthProvider != nil || user.TokenFile != "" || user.ClientKey != "" || user.ClientCertificate != "" {
				t.Errorf("kubectl would run or read something: %+v", user)
			}
		}
	})
}
