package kubeconfig

import (
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const secret = "nobody-may-read-this"

func TestConfig(t *testing.T) {
	for name, c := range map[string]struct {
		user *clientcmdapi.AuthInfo
		want error
	}{
		"one that has all in it":                {user: &clientcmdapi.AuthInfo{Token: secret}},
		"one that wants a program to run":       {user: &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: secret, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}}, want: ErrNotSelfContained},
		"one that wants a token file read":      {user: &clientcmdapi.AuthInfo{TokenFile: "/dev/null"}, want: ErrNotSelfContained},
		"one that names a file that is missing": {user: &clientcmdapi.AuthInfo{ClientCertificate: "/nowhere/tls.crt", ClientKey: "/nowhere/tls.key"}, want: ErrNotSelfContained},
		"one that wants a plugin":               {user: &clientcmdapi.AuthInfo{AuthProvider: &clientcmdapi.AuthProviderConfig{Name: "oidc"}}, want: ErrNotSelfContained},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := clientcmd.Write(clientcmdapi.Config{
				Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: "https://kube-apiserver"}}, AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": c.user},
				Contexts: map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "x",
			})
			if err != nil {
				t.Fatal(err)
			}
			config, err := Config(text)
			if err != c.want { //nolint:errorlint // it is returned as it is
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil && config.Host != "https://kube-apiserver" {
				t.Errorf("leads to %s", config.Host)
			}
		})
	}
}

func TestErrorsDoNotQuoteTheKubeconfig(t *testing.T) {
	for _, text := range []string{"", secret, "a: [" + secret, "{}"} {
		if _, err := Config([]byte(text)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
