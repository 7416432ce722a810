package awsx

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestEgressHasEndpointsAndProxy(t *testing.T) {
	t.Parallel()
	const hosts = "localhost,127.0.0.1,::1,169.254.169.254,kube-apiserver,.svc,.cluster.local,.hypershift.local"
	for name, c := range map[string]struct {
		environ []string
		want    []corev1.EnvVar
	}{
		"no endpoint and no proxy give no variables":         {environ: []string{"PATH=/bin", "NO_PROXY=example.com", "KUBERNETES_SERVICE_HOST=172.30.0.1", "AWS_SECRET_ACCESS_KEY=x"}},
		"endpoints are copied":                               {environ: []string{"AWS_ENDPOINT_URL=http://a"}, want: []corev1.EnvVar{{Name: "AWS_ENDPOINT_URL", Value: "http://a"}}},
		"hosts of the cluster are reached without the proxy": {environ: []string{"HTTPS_PROXY=http://p:3128", "KUBERNETES_SERVICE_HOST=172.30.0.1"}, want: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://p:3128"}, {Name: "NO_PROXY", Value: hosts + ",172.30.0.1"}}},
		"the user's NO_PROXY is extended":                    {environ: []string{"http_proxy=http://p:3128", "no_proxy=.example.com, localhost"}, want: []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "http://p:3128"}, {Name: "NO_PROXY", Value: ".example.com," + hosts}}},
		"endpoints and both proxies are copied together":     {environ: []string{"HTTPS_PROXY=http://s:1", "HTTP_PROXY=http://p:1", "AWS_ENDPOINT_URL=http://a"}, want: []corev1.EnvVar{{Name: "AWS_ENDPOINT_URL", Value: "http://a"}, {Name: "HTTP_PROXY", Value: "http://p:1"}, {Name: "HTTPS_PROXY", Value: "http://s:1"}, {Name: "NO_PROXY", Value: hosts}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Egress(c.environ)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("Egress: %s", diff)
			}
			var environ []string
			for _, v := range got {
				environ = append(environ, v.Name+"="+v.Value)
			}
			if diff := cmp.Diff(got, Egress(environ)); diff != "" {
				t.Errorf("the control-plane-operator passes on something else: %s", diff)
			}
		})
	}
}
