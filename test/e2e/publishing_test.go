//go:build e2e

package e2e

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// TestNodePorts runs a cluster without AWS and without a load balancer: users and nodes connect to a node of the
// management cluster.
func TestNodePorts(t *testing.T) {
	t.Parallel()
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile(filepath.Join(root, "config", "samples", "hostedcluster-nodeport.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	status, err := on.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := status.Machines[0].Address
	h := readHosted(t, string(sample), map[string]string{"RELEASE_IMAGE": on.Releases[on.Versions[0]], "NODE_ADDRESS": address})
	h.create()
	h.available()

	at := h.hc.Status.ControlPlaneEndpoint
	if want := h.nodePort(names.KubeAPIServer); at.Host != address || at.Port != want {
		t.Errorf("the published API endpoint is %+v, want %s port %d", at, address, want)
	}
	config, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig)
	h.must(err)
	server, err := url.Parse(config.Host)
	h.must(err)
	if want := net.JoinHostPort(address, strconv.Itoa(int(at.Port))); server.Host != want {
		t.Errorf("the server in the user's kubeconfig is %s, want %s", server.Host, want)
	}
	h.nodePort(names.KonnectivityServer)
	out, err := on.Kubectl(t.Context(), h.kubeconfig, "", "get", "--raw", "/readyz")
	h.must(err)
	if out != "ok" {
		t.Errorf("the API server returns %q", out)
	}
}

// nodePort returns the node port of a Service of the control plane.
func (h *hosted) nodePort(name string) int32 {
	h.t.Helper()
	svc := &corev1.Service{}
	h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: name}, svc))
	if svc.Spec.Type != corev1.ServiceTypeNodePort || svc.Spec.Ports[0].NodePort == 0 {
		h.t.Fatalf("Service %s has no node port: %+v", name, svc.Spec)
	}
	return svc.Spec.Ports[0].NodePort
}
