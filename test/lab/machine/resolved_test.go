package machine

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/images/rootfs"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
)

// privateName is a name of the private zone of a cluster, and privateAddress its address.
const (
	privateName    = "api.example.hypershift.local"
	privateAddress = "10.1.0.9"
)

// newNode returns an instance with the user data of a node, and an image with the programs of a node.
func newNode(t *testing.T, image string, kubelet map[string]any) *instance {
	t.Helper()
	in := nodeconfig.Inputs{
		Cluster: nodeconfig.ClusterSettings{ServiceNetworks: []string{"172.31.0.0/16"}},
		Pool:    nodeconfig.Config{Kubelet: kubelet},
	}
	if image != rootfs.Ignition {
		in.Format = hyperv1.UserDataFormatCloudConfig
	}
	userData, err := nodeconfig.Render(in, nodeconfig.Machine{
		Server: "https://" + privateName + ":6443", Token: bootstrapToken, CA: []byte("a CA\n"), ClientCA: []byte("another CA\n"),
		Advertised: netip.MustParseAddrPort("172.20.0.1:6443"),
	})
	if err != nil {
		t.Fatal(err)
	}
	i := newRealInstance(t, image, string(userData))
	i.Instance.Kubelet = true
	if err := i.Write(); err != nil {
		t.Fatal(err)
	}
	// The arguments of the kubelet are its only task here.
	const kubeletProgram = "#!/bin/sh\necho \"$@\" >/var/lib/kubelet-arguments.new\nmv /var/lib/kubelet-arguments.new /var/lib/kubelet-arguments\nexec sleep infinity\n"
	if err := os.WriteFile(i.path("..", "..", "bin", "kubelet"), []byte(kubeletProgram), 0o755); err != nil {
		t.Fatal(err)
	}
	return i
}

// resolvesPrivateNames fails the test unless programs of the machine resolve a name of the private zone.
func (i *instance) resolvesPrivateNames() {
	i.t.Helper()
	out, err := i.run("getent", "ahostsv4", privateName)
	if err != nil || !strings.HasPrefix(out, privateAddress) {
		status, _ := i.run("resolvectl", "--no-pager", "status")
		i.t.Errorf("%s is %q, %v; want %s\n%s", privateName, out, err, privateAddress, status)
	}
}

// TestNodesResolveThePrivateNameOfTheAPIServer boots each image as a node. Without a domain for it, systemd-resolved sends no
// name that ends with .local to a DNS server, and the stub of systemd-resolved is no DNS server for pods.
func TestNodesResolveThePrivateNameOfTheAPIServer(t *testing.T) {
	for _, image := range rootfs.Names() {
		t.Run(image, func(t *testing.T) {
			i := newNode(t, image, nil)
			i.on()
			i.awaitUnit("hypershift-apiserver.socket", "active")
			arguments := i.await("var/lib/kubelet-arguments", 1)
			i.resolvesPrivateNames()

			// A pod with dnsPolicy Default uses the name servers of this file.
			file := "/etc/resolv.conf"
			if _, set, found := strings.Cut(arguments, " --resolv-conf="); found {
				file, _, _ = strings.Cut(set, " ")
			}
			servers, err := i.run("sed", "-n", "s/^nameserver //p", strings.TrimSpace(file))
			if err != nil || servers != i.DNS+"\n" {
				t.Errorf("pods have the name servers %q of %s, %v; want %s", servers, file, err, i.DNS)
			}

			if out, err := i.run("systemctl", "reboot"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			i.ended()
			i.on()
			i.awaitUnit("kubelet.service", "active")
			i.resolvesPrivateNames()
		})
	}
}
