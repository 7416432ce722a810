package router

import (
	"regexp"
	"strings"
	"testing"

	routev1 "github.com/openshift/api/route/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
)

// directives are all lines that the configuration has after its head.
var directives = regexp.MustCompile(`^(    use_backend [a-z-]+ if \{ req\.ssl_sni -i [a-z0-9.-]+ \}|    # Pods call the API server .*|    default_backend kube-apiserver|` +
	`|backend [a-z-]+|    server service 10\.57\.0\.[12]:[0-9]+ tcp-ut 10s)$`)

// A Route adds only the directives of its own host and of an existing Service.
func FuzzConfiguration(f *testing.F) {
	for _, host := range []string{
		"api.example.com", "API.example.com", "a.example.com }\n    use_backend konnectivity-server", "a.example.com\nbackend b", "*.example.com", "a b", "-i", "a\x00", "a\r\n", "ﬀ.example.com", "K.example.com", "a.-",
		strings.Repeat("a", 300), "", "[fd00::1]", "$(x)", "${HOME}", "\"", "a\\",
	} {
		f.Add(host, "kube-apiserver", "https", int32(6443), "b.example.com")
	}
	f.Add("a", "none\n", "https", int32(-1), "a")
	f.Fuzz(func(t *testing.T, host, service, port string, number int32, other string) {
		env := &target.ControlPlane{HCP: &hyperv1.HostedControlPlane{}, Services: map[string]*corev1.Service{
			"kube-apiserver":      {Spec: corev1.ServiceSpec{ClusterIP: "10.57.0.1", Ports: []corev1.ServicePort{{Name: "https", Port: 6443}}}},
			"konnectivity-server": {Spec: corev1.ServiceSpec{ClusterIP: "10.57.0.2", Ports: []corev1.ServicePort{{Port: 8091}}}},
		}}
		env.HCP.Namespace = "clusters-demo"
		for name, r := range map[string]routev1.RouteSpec{
			"a": {Host: host, To: routev1.RouteTargetReference{Name: service}, Port: &routev1.RoutePort{TargetPort: intstr.FromString(port)}},
			"b": {Host: other, To: routev1.RouteTargetReference{Name: "konnectivity-server"}, Port: &routev1.RoutePort{TargetPort: intstr.FromInt32(number)}},
		} {
			one := routev1.Route{Spec: r}
			one.Name, one.Labels = name, map[string]string{hyperv1.HCPRouteLabel: "clusters-demo"}
			env.Routes = append(env.Routes, one)
		}
		rules := served(env)
		_, added, found := strings.Cut(configuration(rules), "    use_backend _self if { src 127.0.0.0/8 } HTTP\n")
		if !found {
			t.Fatalf("the head of the configuration is changed:\n%s", added)
		}
		hosts := map[string]bool{}
		for _, r := range rules {
			if hosts[r.host] || r.host != strings.ToLower(host) && r.host != strings.ToLower(other) {
				t.Errorf("the rules are %+v", rules)
			}
			hosts[r.host] = true
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(added, "\n"), "\n") {
			if !directives.MatchString(line) {
				t.Errorf("another directive: %q", line)
			}
		}
		if got := strings.Count(added, "use_backend"); got != len(rules) {
			t.Errorf("%d hosts are served, and %d Routes", got, len(rules))
		}
	})
}
