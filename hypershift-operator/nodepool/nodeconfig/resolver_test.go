package nodeconfig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// resolvedNode is a machine with a real shell, and stand-ins for systemctl and resolvectl.
type resolvedNode struct {
	t    *testing.T
	root string
}

const (
	dropInFile  = "/run/systemd/resolved.conf.d/50-hypershift.conf"
	podsFile    = "/run/hypershift/resolv.conf"
	uplinkFile  = "/run/systemd/resolve/resolv.conf"
	stubContent = "# the stub\nnameserver 127.0.0.53\noptions edns0 trust-ad\nsearch ec2.internal\n"
)

// newResolvedNode returns a machine with a resolvectl that prints these lines; without any, systemd-resolved does not run.
func newResolvedNode(t *testing.T, dns string) *resolvedNode {
	n := &resolvedNode{t: t, root: t.TempDir()}
	active := "exit 0"
	if dns == "" {
		active = "exit 3"
	}
	n.write("/bin/systemctl", "#!/bin/sh\ncase $1 in is-active) "+active+" ;; *) echo \"$@\" >>"+n.root+"/calls ;; esac\n")
	n.write("/bin/sleep", "#!/bin/sh\nmv "+n.root+"/dns.later "+n.root+"/dns 2>/dev/null\nexit 0\n")
	n.write("/bin/resolvectl", "#!/bin/sh\ncat "+n.root+"/dns\n")
	n.write("/dns", dns)
	n.write(uplinkFile, "nameserver 10.1.0.2\nnameserver 10.1.0.2\nsearch ec2.internal\n")
	return n
}

func (n *resolvedNode) write(path, content string) {
	n.t.Helper()
	path = n.root + path
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		n.t.Fatal(err)
	}
}

// read returns a file, or "" if it does not exist.
func (n *resolvedNode) read(path string) string {
	text, _ := os.ReadFile(n.root + path)
	return string(text)
}

// run runs a script of the user data.
func (n *resolvedNode) run(script string) {
	n.t.Helper()
	for _, dir := range []string{"/run/", "/etc/"} {
		script = strings.ReplaceAll(script, dir, n.root+dir)
	}
	cmd := exec.CommandContext(n.t.Context(), "sh", "-c", script)
	cmd.Env = []string{"PATH=" + n.root + "/bin:" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("%v: %s", err, out)
	}
}

func TestThePrivateZoneIsRoutedToTheServersOfTheNetwork(t *testing.T) {
	const routed = "[Resolve]\nDomains=~hypershift.local\n"
	for name, c := range map[string]struct{ dns, want string }{
		"the resolver of the VPC":                   {"Global:\nLink 2 (ens5): 10.1.0.2\n", routed + "DNS=10.1.0.2\n"},
		"servers of DHCP options":                   {"Global:\nLink 2 (ens5): 10.9.0.1 10.9.0.2\nLink 3 (cni0):\n", routed + "DNS=10.9.0.1 10.9.0.2\n"},
		"a subnet with IPv6 only":                   {"Global:\nLink 2 (ens5): fd00:ec2::253\n", routed + "DNS=fd00:ec2::253\n"},
		"servers of resolved.conf only":             {"Global: 192.0.2.1\nLink 2 (ens5):\n", routed},
		"the machine does not use systemd-resolved": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newResolvedNode(t, c.dns)
			script := read(t, inputs(), machine()).Files["/etc/kubernetes/resolver.sh"]
			restarts := ""
			if c.want != "" {
				restarts = "try-restart systemd-resolved.service\n"
			}
			for range 2 { // the second run makes no change
				n.run(script)
				if got := n.read(dropInFile); got != c.want {
					t.Errorf("the settings are %q, want %q", got, c.want)
				}
				if got := n.read("/calls"); got != restarts {
					t.Errorf("systemctl was called with %q, want %q", got, restarts)
				}
			}
		})
	}
}

func TestTheServersOfTheNetworkAreFollowed(t *testing.T) {
	n := newResolvedNode(t, "Global:\nLink 2 (ens5):\n")
	script := read(t, inputs(), machine()).Files["/etc/kubernetes/resolver.sh"]
	n.write("/dns.later", "Global:\nLink 2 (ens5): 10.1.0.2\n") // DHCP is not done
	n.run(script)
	n.write("/dns", "Global: 10.1.0.2\nLink 2 (ens5): 10.9.0.1\n")
	n.run(script)
	if got, want := n.read(dropInFile), "[Resolve]\nDomains=~hypershift.local\nDNS=10.9.0.1\n"; got != want {
		t.Errorf("the settings are %q, want %q", got, want)
	}
}

func TestPodsDoNotGetTheStubOfSystemdResolved(t *testing.T) {
	for name, c := range map[string]struct {
		resolvConf, dns string
		kubelet         string
		want            string
	}{
		"the stub":                    {stubContent, "Link 2 (ens5): 10.1.0.2\n", "", "RESOLV_CONF=--resolv-conf=ROOT/run/hypershift/resolv.conf\n"},
		"the servers of the network":  {"nameserver 10.1.0.2\n", "Link 2 (ens5): 10.1.0.2\n", "", ""},
		"no systemd-resolved":         {"nameserver 10.1.0.2\n", "", "", ""},
		"another server on this host": {"nameserver 127.0.0.1\n", "", "", ""},
		"the user has set resolvConf": {stubContent, "Link 2 (ens5): 10.1.0.2\n", "resolvConf: /etc/mine.conf\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			n := newResolvedNode(t, c.dns)
			n.write("/etc/resolv.conf", c.resolvConf)
			in := inputs()
			if c.kubelet != "" {
				in = configured(parse(t, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"+c.kubelet))
			}
			node := read(t, in, machine())
			n.write("/etc/kubernetes/kubelet.yaml", node.Files["/etc/kubernetes/kubelet.yaml"])
			n.write("/bin/curl", "#!/bin/sh\necho value\n")
			n.run(node.Files["/etc/kubernetes/resolver.sh"])
			n.run(node.Files["/etc/kubernetes/identity.sh"])
			_, got, _ := strings.Cut(strings.ReplaceAll(n.read("/run/hypershift/identity"), n.root, "ROOT"), "aws:///value/value\n")
			if got != c.want {
				t.Errorf("the kubelet has %q, want %q", got, c.want)
			}
			if c.want == "" {
				return
			}
			if got, want := n.read(podsFile), "nameserver 10.1.0.2\nsearch ec2.internal\n"; got != want {
				t.Errorf("pods have %q, want %q", got, want)
			}
			if unit := node.Units["kubelet.service.d/90-hypershift.conf"]; !strings.Contains(unit, " $RESOLV_CONF ") {
				t.Errorf("the kubelet is not started with it:\n%s", unit)
			}
		})
	}
}
