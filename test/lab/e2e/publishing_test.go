//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/lab/cloud"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/hosting"
)

// TestNodePorts runs a cluster without AWS and without a load balancer: users and nodes connect to a node of the
// management cluster.
func TestNodePorts(t *testing.T) {
	begin(t)
	root, err := pinned.Root()
	if err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile(filepath.Join(root, "config", "samples", "hostedcluster-nodeport.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The machines of the lab include the machines of hosted clusters.
	address, err := on.Kubectl(t.Context(), on.Kubeconfig, "", "get", "nodes", "-o", `jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}`)
	if err != nil {
		t.Fatal(address, err)
	}
	h := readHosted(t, string(sample), map[string]string{"RELEASE_IMAGE": release(t, on.Versions[0]), "NODE_ADDRESS": address})
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

// TestPublishing runs clusters with an own load balancer for the API server: a public one at a host name that external-dns
// registers, and a private one with PrivateLink. Each cluster runs one node.
func TestPublishing(t *testing.T) {
	begin(t)
	t.Run("public, by a host name", func(t *testing.T) {
		t.Parallel()
		const host = "api.published." + hosting.Domain
		h := newHosted(t, "published", on.Versions[0])
		h.publishAPI(hyperv1.Public, host)
		began := time.Now()
		h.create()
		pool := h.nodePool(h.hc.Name, 1)
		h.must(h.management.Create(t.Context(), pool))
		h.available()
		h.waitForCondition(hyperv1.ExternalDNSReachable, "True")
		t.Logf("the host name leads to the load balancer after %.0f s", time.Since(began).Seconds())

		secret := &corev1.Secret{}
		h.must(h.management.Get(t.Context(), client.ObjectKey{Namespace: h.hc.Namespace, Name: h.hc.Status.KubeConfig.Name}, secret))
		config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
		h.must(err)
		if want := "https://" + host + ":6443"; config.Host != want {
			t.Errorf("the server in the user's kubeconfig is %s, want %s", config.Host, want)
		}
		config.Dial = dialPublic
		user, err := client.New(config, client.Options{Scheme: h.management.Scheme()})
		h.must(err)
		h.eventually("the user's kubeconfig works", func(ctx context.Context) error { return user.List(ctx, &corev1.NamespaceList{}) })
		h.eventually("the node is ready", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
		h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")

		records := h.publicRecords(t.Context())
		for _, name := range []string{host, "konnectivity.published." + hosting.Domain} {
			if !slices.Contains(records, name) {
				t.Errorf("the public zone has %v, and lacks %s", records, name)
			}
		}
		h.delete(t.Context())
		h.eventually("the public records are deleted", func(ctx context.Context) error {
			if records := h.publicRecords(ctx); len(records) > 0 {
				return fmt.Errorf("the public zone has %v", records)
			}
			return nil
		})
	})
	t.Run("private", func(t *testing.T) {
		t.Parallel()
		h := newHosted(t, "secluded", on.Versions[0])
		h.publishAPI(hyperv1.Private, "")
		h.create()
		pool := h.nodePool(h.hc.Name, 1)
		h.must(h.management.Create(t.Context(), pool))
		h.available()
		h.eventually("the node is ready", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
		h.waitForCondition(hyperv1.DataPlaneConnectionAvailable, "True")
		if at, want := h.hc.Status.ControlPlaneEndpoint, (hyperv1.APIEndpoint{Host: names.LocalAPI(h.hc.Name), Port: 6443}); at != want {
			t.Errorf("the published API endpoint is %+v, want %+v", at, want)
		}
		offered := &hyperv1.AWSEndpointServiceList{}
		h.must(h.management.List(t.Context(), offered, client.InNamespace(h.namespace())))
		var all []string
		for _, es := range offered.Items {
			all = append(all, es.Name)
		}
		if want := []string{names.KubeAPIServerPrivate, names.PrivateRouter}; !slices.Equal(slices.Sorted(slices.Values(all)), want) {
			t.Errorf("PrivateLink offers %v, want %v", all, want)
		}
	})
}

// publishAPI publishes the API server by a load balancer, with a host name unless it is empty.
func (h *hosted) publishAPI(access hyperv1.AWSEndpointAccessType, host string) {
	h.hc.Spec.Platform.AWS.EndpointAccess = access
	for i := range h.hc.Spec.Services {
		if s := &h.hc.Spec.Services[i]; s.Service == hyperv1.APIServer {
			s.ServicePublishingStrategy = hyperv1.ServicePublishingStrategy{Type: hyperv1.LoadBalancer}
			if host != "" {
				s.ServicePublishingStrategy.LoadBalancer = &hyperv1.LoadBalancerPublishingStrategy{Hostname: host}
			}
		}
	}
}

// dialPublic connects with a name that the resolver of the lab answers. The host does not use this resolver.
func dialPublic(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, net.JoinHostPort(cluster.SwitchAddress, strconv.Itoa(cloud.DNSPort)))
	}}}
	return dialer.DialContext(ctx, network, address)
}

// publicRecords returns the names of this cluster in the public zone that have addresses.
func (h *hosted) publicRecords(ctx context.Context) []string {
	h.t.Helper()
	network, err := on.AWS.Network(ctx)
	h.must(err)
	var all []string
	for _, z := range network.Zones {
		for _, r := range z.Records {
			if name := strings.TrimSuffix(r.Name, "."); !z.Private && strings.HasSuffix(name, "."+h.hc.Name+"."+hosting.Domain) && (r.Type == "A" || r.Type == "CNAME") {
				all = append(all, name)
			}
		}
	}
	return all
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
