package pki

import (
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

func TestTheCertificateOfAKubeconfigCanBeRead(t *testing.T) {
	by := authority(t, "client-signer")
	admin := Request{User: "system:admin", Groups: []string{"admins"}, Usage: Client}
	leaf := issue(t, by, admin, DefaultTerms, now)
	text, err := Kubeconfig("https://api.example.com:6443", Bundle(by.Certificate), leaf)
	if err != nil {
		t.Fatal(err)
	}
	stays, why := Evaluate(CertificateIn(text), admin, by, DefaultTerms, now)
	if why != "" {
		t.Fatal(why)
	}
	if same, err := Kubeconfig("https://api.example.com:6443", Bundle(by.Certificate), stays); err != nil || string(same) != string(text) {
		t.Errorf("the same certificate makes another kubeconfig: %v\n%s", err, same)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil || config.Host != "https://api.example.com:6443" || string(config.CertData) != string(leaf.CertPEM) || string(config.CAData) != string(Bundle(by.Certificate)) {
		t.Errorf("%v, %v", config, err)
	}
	for _, other := range []string{"", "garbage", "users: [{name: a}, {name: b}]", "users: [{name: a, user: null}]"} {
		if _, why := Evaluate(CertificateIn([]byte(other)), admin, by, DefaultTerms, now); why != "there is none" {
			t.Errorf("%q: %s", other, why)
		}
	}
}
