package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

var demo = client.ObjectKey{Namespace: "clusters", Name: "demo"}

func TestUsersReachTheLoadBalancer(t *testing.T) {
	const published = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'https://api.demo.example.test'}}]\ncontexts: [{name: c, context: {cluster: c}}]\n"
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: demo.Namespace, Name: "demo-admin-kubeconfig"}, Data: map[string][]byte{"kubeconfig": []byte(published)},
	}).Build()
	text, err := userKubeconfig(t.Context(), c, demo, "10.58.0.7")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil || config.Host != "https://10.58.0.7:443" || config.ServerName != "api.demo.example.test" {
		t.Errorf("%+v, %v", config, err)
	}
}
