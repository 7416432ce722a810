package components_test

import (
	"os"
	"regexp"
	"testing"
	"time"
)

// idleTimeout is the least time after which a network load balancer forgets a connection without packets. The default is 350 seconds:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/update-idle-timeout.html
const idleTimeout = 60 * time.Second

// Neither end notices that a load balancer has forgotten its connection, until it sends something. So one of the ends must send packets
// more often: keep-alives of TCP, or pings of HTTP/2. Programs of Kubernetes do so without a setting: an API server after three minutes
// (defaultKeepAlivePeriod in https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/server/secure_serving.go), which suffices for the
// default, and client-go after 30 seconds (https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/util/net/http.go).
func TestKeepAlivesAreMoreFrequentThanTheIdleTimeoutOfLoadBalancers(t *testing.T) {
	for name, tc := range map[string]struct{ file, pattern string }{
		"agents of konnectivity to servers":     {"konnectivityagent/assets/daemonset.yaml", `--keepalive-time=(\S+)`},
		"servers of konnectivity to agents":     {"kubeapiserver/assets/deployment.yaml", `\n *- --keepalive-time=(\S+)`},
		"routers to clients":                    {"router/testdata/private.yaml", `\n *clitcpka-idle (\S+)`},
		"routers to servers":                    {"router/testdata/private.yaml", `\n *srvtcpka-idle (\S+)`},
		"routers to clients that do not answer": {"router/testdata/private.yaml", `\n *clitcpka-intvl (\S+)`},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(tc.file)
			if err != nil {
				t.Fatal(err)
			}
			found := regexp.MustCompile(tc.pattern).FindAllSubmatch(text, -1)
			if len(found) == 0 {
				t.Fatalf("%s has nothing like %s: the kernel sends the first keep-alive after two hours", tc.file, tc.pattern)
			}
			for _, f := range found {
				if interval, err := time.ParseDuration(string(f[1])); err != nil || interval > idleTimeout/2 {
					t.Errorf("%s: %q, %v: one packet may be lost", tc.file, f[0], err)
				}
			}
		})
	}
}
