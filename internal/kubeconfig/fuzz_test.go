package kubeconfig

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// kubeconfigText has a cluster, a user and a context with more fields.
func kubeconfigText(cluster, user, context string) []byte {
	return []byte("apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: c, cluster: {server: 'https://api.example.com:6443'" + cluster +
		"}}]\nusers: [{name: u, user: {token: " + secret + user + "}}]\ncontexts: [{name: x, context: {cluster: c, user: u" + context + "}}]\n")
}

// A kubeconfig of a user neither names a file or a program of this process, nor appears in an error. A text that is accepted is read
// again by the API server, which must have the same server.
func FuzzConfig(f *testing.F) {
	for _, text := range [][]byte{
		kubeconfigText("", "", ""), kubeconfigText(", tls-server-name: a, proxy-url: 'http://proxy:3128'", ", client-certificate-data: YQ==", ", namespace: n"),
		kubeconfigText(", certificate-authority: /etc/passwd", "", ""), kubeconfigText("", ", exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}", ""),
		kubeconfigText("", ", tokenFile: /etc/passwd, client-key: /etc/passwd", ""), kubeconfigText("", "", ", cluster: d"), kubeconfigText("", "", ", user: ''"),
		[]byte("x: &a " + strings.Repeat("s", 5000) + "\ny: [" + strings.Repeat("*a,", 1000) + "]"), []byte(`{"contexts":[{"name":"x"}],"current-context":"x"}`),
		[]byte("clusters: [{name: x}]\nusers: [{name: x}]\ncontexts: [{name: x, context: null}]\ncurrent-context: x"),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := Config(text)
		if err != nil {
			if err != ErrUnreadable && err != ErrNotSelfContained { //nolint:errorlint // it is returned as it is
				t.Errorf("an error of a parser: %v", err)
			}
			return
		}
		tls := config.TLSClientConfig
		if config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != "" || tls.CAFile != "" || tls.CertFile != "" || tls.KeyFile != "" {
			t.Errorf("it depends on files or programs: %+v", config)
		}
		raw, err := clientcmd.Load(text)
		if err != nil {
			t.Fatal(err)
		}
		current := raw.Contexts[raw.CurrentContext]
		if current == nil || raw.Clusters[current.Cluster] == nil || raw.AuthInfos[current.AuthInfo] == nil && current.AuthInfo != "" {
			t.Error("it has no current context with a cluster and a user")
		}
	})
}
