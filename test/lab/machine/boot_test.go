package machine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hack/binaries/pinned"
	"github.com/hosted-control-planes/hypershift/hack/images/rootfs"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/lab/cgroup"
	"github.com/hosted-control-planes/hypershift/test/lab/isolated"
	"github.com/hosted-control-planes/hypershift/test/lab/namespace"
	"github.com/hosted-control-planes/hypershift/test/lab/poll"
	"github.com/hosted-control-planes/hypershift/test/lab/resolver"
	"github.com/hosted-control-planes/hypershift/test/lab/vpc"
)

// pid1 is the argument with which the program of the tests is pid 1 of a machine.
const pid1 = "pid1"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == pid1 {
		fmt.Fprintln(os.Stderr, Boot(os.Args[2]))
		os.Exit(1)
	}
	os.Exit(isolated.Run(m))
}

// bootWithin is the longest time of a boot on a busy machine. cloud-init starts Python four times.
const bootWithin = 5 * time.Minute

// instance is an instance in a VPC, on or off.
type instance struct {
	Spec
	t       *testing.T
	network *vpc.Network
	running *namespace.Init
}

// newRealInstance is an instance that boots a root file system with user data from the metadata service of its VPC.
func newRealInstance(t *testing.T, root, userData string) *instance {
	t.Helper()
	isolated.Require(t)
	requireBuilt(t, root)
	lab := t.TempDir()
	i := &instance{t: t, Spec: Spec{
		Name: "i-1", Lab: lab, Dir: filepath.Join(lab, "machines", "i-1"), VPC: true, MemoryMiB: 512, Registry: "10.55.0.1:5000",
		Instance: &Instance{Hostname: "ip-10-1-0-5.ec2.internal", Ignition: root == rootfs.Ignition, Resolved: root == rootfs.UbuntuLike},
	}}
	var err error
	if i.Instance.Root, err = rootfs.Ensure(t.Context(), t.Output(), root); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(lab, "bin"), i.Dir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if i.Instance.Ignition {
		programs, err := pinned.Ensure(t.Context(), t.Output(), "ignition")
		if err == nil {
			err = os.Symlink(programs["ignition"], filepath.Join(lab, "bin", "ignition"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	i.join(userData)
	if err := i.Write(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.cleanUp)
	return i
}

// requireBuilt skips a test where the root file system or Ignition would have to be built, which takes longer than a test may.
func requireBuilt(t *testing.T, root string) {
	t.Helper()
	image, err := rootfs.Built(root)
	if err != nil {
		t.Fatal(err)
	}
	program := true
	if root == rootfs.Ignition {
		if program, err = pinned.Built("ignition"); err != nil {
			t.Fatal(err)
		}
	}
	if !image || !program {
		t.Skip("build the image of the instance first: go run ./hack/images && go run ./hack/binaries ignition")
	}
}

// join creates the VPC of the instance.
func (i *instance) join(userData string) {
	i.t.Helper()
	aws := awsemulator.Network{
		VPCs:    []awsemulator.VPC{{ID: "vpc-1", Account: "customer", CIDRs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, DNS: true, Domain: "ec2.internal"}},
		Subnets: []awsemulator.NetworkSubnet{{ID: "subnet-1", VPC: "vpc-1", CIDR: netip.MustParsePrefix("10.1.0.0/20"), ZoneID: "use1-az1"}},
		Groups:  []awsemulator.SecurityGroup{{ID: "sg-1", VPC: "vpc-1"}},
		Zones: []awsemulator.Zone{{Name: "example.hypershift.local.", Private: true, VPCs: []string{"vpc-1"}, Records: []awsemulator.Record{
			{Name: "api.example.hypershift.local.", Type: "A", Values: []string{"10.1.0.9"}},
		}}},
		Interfaces: []awsemulator.NetworkInterface{{
			ID: "eni-1", VPC: "vpc-1", Subnet: "subnet-1", Address: netip.MustParseAddr("10.1.0.5"), Groups: []string{"sg-1"},
			Kind: "interface", Instance: i.Name, HopLimit: 1, Metadata: true, TokensRequired: true,
		}},
	}
	read := func(context.Context) (*awsemulator.Network, error) { read := aws; return &read, nil }
	names, err := resolver.Start(resolver.Options{
		Listen: "127.0.0.1:0", Read: read, LoadBalancers: func() []resolver.LoadBalancer { return nil },
		Options: poll.Options{Clock: clock.RealClock{}, Progress: i.t.Output()},
	})
	if err != nil {
		i.t.Fatal(err)
	}
	serving, stop := context.WithCancel(i.t.Context())
	var servers sync.WaitGroup
	servers.Go(func() { names.Run(serving) })
	i.t.Cleanup(func() { stop(); servers.Wait() })
	i.network, err = vpc.New(vpc.Options{
		Read:       read,
		Management: "management", ManagementVPC: "home", ControlPlane: netip.MustParseAddr("10.55.0.2"),
		Balancers: func() map[string]netip.Addr { return nil },
		Metadata: func(id string) *vpc.Metadata {
			return &vpc.Metadata{ID: id, Zone: "us-east-1a", Type: "m5.large", Image: "ami-1", Hostname: i.Instance.Hostname, UserData: []byte(userData)}
		},
		Resolve: func(ctx context.Context, r *vpc.Router, at []netip.AddrPort) error {
			return serveNames(ctx, names, r, at)
		},
		Options: poll.Options{Clock: clock.RealClock{}, Progress: i.t.Output()},
	})
	if err == nil {
		err = i.network.Refresh(i.t.Context())
	}
	if err != nil {
		i.t.Fatal(err)
	}
	ended, cancel := context.WithCancel(i.t.Context())
	cancel()
	i.t.Cleanup(func() { i.network.Run(ended) }) // removes everything
	at, err := i.network.Attachment(i.t.Context(), i.Name)
	if err != nil {
		i.t.Fatal(err)
	}
	i.Address, i.Gateway, i.DNS, i.Search = at.Address.String(), at.Gateway.String(), at.DNS.String(), at.Domain
}

// serveNames serves the resolver of a VPC at its addresses.
func serveNames(ctx context.Context, names *resolver.Server, r *vpc.Router, addresses []netip.AddrPort) error {
	for _, at := range addresses {
		packets, err := r.ListenPacket(at)
		if err != nil {
			return err
		}
		listener, err := r.Listen(at)
		if err != nil {
			return errors.Join(err, packets.Close())
		}
		names.Serve(ctx, r.ID, packets, listener)
	}
	return nil
}

// cleanUp cuts the power, prints the console of a failed test, and removes the cgroups.
func (i *instance) cleanUp() {
	if i.running != nil {
		i.running.Kill()
	}
	if i.t.Failed() {
		console, err := os.ReadFile(i.path(ConsoleLog))
		i.t.Logf("the console: %v\n%s", err, console)
	}
	system, err := cgroup.Detect(cgroup.Family(i.Lab))
	if err == nil {
		err = cgroup.Remove(context.WithoutCancel(i.t.Context()), system, "")
	}
	if err != nil {
		i.t.Error(err)
	}
}

func (i *instance) on() {
	i.t.Helper()
	var err error
	i.running, err = i.PowerOn(func(pid int) error { return i.network.Plug(i.t.Context(), i.Name, pid) }, os.Args[0], pid1, i.Dir)
	if err != nil {
		i.t.Fatal(err)
	}
}

// await returns the content of a file of the instance when it has some number of lines.
func (i *instance) await(path string, lines int) string {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), bootWithin)
	defer cancel()
	var text []byte
	err := until(ctx, func() (bool, error) {
		select {
		case <-i.running.Done():
			return false, fmt.Errorf("the machine has ended")
		default:
		}
		text, _ = os.ReadFile(i.path("disk", "upper", path)) // not yet
		return strings.Count(string(text), "\n") >= lines, nil
	})
	if err != nil {
		i.t.Fatalf("%s has %q, want %d lines: %v", path, text, lines, err)
	}
	return string(text)
}

// run runs a command inside the instance.
func (i *instance) run(command ...string) (string, error) {
	enter := []string{"--target=" + strconv.Itoa(i.running.PID()), "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--"}
	out, err := exec.CommandContext(i.t.Context(), "nsenter", append(enter, command...)...).CombinedOutput()
	return string(out), err
}

// ended waits for the end of the machine.
func (i *instance) ended() {
	i.t.Helper()
	select {
	case <-i.running.Done():
	case <-time.After(bootWithin):
		i.t.Fatal("the machine still runs")
	}
}

// consoleHas waits for a text on the console. The last output of a machine is copied after the machine has ended.
func (i *instance) consoleHas(text string) bool {
	i.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		console, err := os.ReadFile(i.path(ConsoleLog))
		if err != nil {
			i.t.Fatal(err)
		}
		if strings.Contains(string(console), text) {
			return true
		}
	}
	return false
}

// greet is user data for Ignition: a user with a key, a file, and a unit that copies it.
const greet = `{"ignition": {"version": "3.4.0"},
 "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA test"]}]},
 "storage": {"files": [{"path": "/etc/greeting", "mode": 384, "contents": {"source": "data:,hello%0A"}}]},
 "systemd": {"units": [
  {"name": "greet.service", "enabled": true, "contents": "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'cat /etc/greeting >>/var/lib/greetings'\n[Install]\nWantedBy=multi-user.target\n"},
  {"name": "other.service", "enabled": false, "contents": "[Service]\nExecStart=/bin/touch /var/lib/other\n[Install]\nWantedBy=multi-user.target\n"}
 ]}}`

func TestIgnitionReadsTheUserDataAtTheFirstBoot(t *testing.T) {
	i := newRealInstance(t, rootfs.Ignition, greet)
	if err := os.Chmod(i.Dir, 0o700); err != nil { // as the home directory of root, in which labs are
		t.Fatal(err)
	}
	i.on()
	if text := i.await("var/lib/greetings", 1); text != "hello\n" {
		t.Errorf("the unit wrote %q", text)
	}
	if file, err := os.Stat(i.path("disk", "upper", "etc", "greeting")); err != nil || file.Mode() != 0o600 {
		t.Errorf("the file of the user data is %v, %v", file, err)
	}
	if key, err := i.run("cat", "/home/core/.ssh/authorized_keys.d/ignition"); err != nil || !strings.Contains(key, "ssh-ed25519 AAAA") {
		t.Errorf("the SSH key of the user data is %q, %v", key, err)
	}
	if _, err := os.Stat(i.path("disk", "upper", "var", "lib", "other")); err == nil {
		t.Error("a unit that is not enabled has run")
	}
	if name, err := i.run("hostname"); name != i.Instance.Hostname+"\n" {
		t.Errorf("the hostname is %q, %v", name, err)
	}
	if memory, err := i.run("grep", "MemTotal", "/proc/meminfo"); !strings.Contains(memory, " 524288 kB") {
		t.Errorf("the memory is %q, %v", memory, err)
	}
	if out, err := i.run("ls", insidePrograms); err == nil {
		t.Errorf("an image without a kubelet has programs of the lab: %s", out)
	}

	// A file of the user data that was changed stays so: Ignition does not run again.
	if out, err := i.run("/bin/sh", "-c", "echo bye >/etc/greeting"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := i.run("systemctl", "reboot"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	i.ended()
	if !i.running.Rebooted() {
		t.Error("a reboot is not reported")
	}
	i.on()
	if text := i.await("var/lib/greetings", 2); text != "hello\nbye\n" {
		t.Errorf("after a reboot, the unit wrote %q", text)
	}
	i.PowerOff(i.running, bootWithin)
	if i.running.Rebooted() {
		t.Error("power off is reported as a reboot")
	}
	if !i.consoleHas("Reached target poweroff.target") {
		t.Error("the console has no power off in order")
	}
}

func TestMachineWithUserDataThatIgnitionRefusesDoesNotBoot(t *testing.T) {
	i := newRealInstance(t, rootfs.Ignition, `{"ignition": {"version": "3.4.0"}, "storage": {"files": [{"path": "relative"}]}}`)
	i.on()
	i.ended()
	if !i.consoleHas("running stage fetch of Ignition") {
		t.Error("the console does not name the failed stage")
	}
}

const cloudConfig = `#cloud-config
write_files:
- {path: /etc/greeting, content: "hello\n", permissions: "0600"}
- path: /etc/systemd/system/greet.service
  content: |
    [Service]
    Type=oneshot
    ExecStart=/bin/sh -c 'cat /etc/greeting >>/var/lib/greetings'
runcmd:
- [systemctl, daemon-reload]
- [systemctl, start, greet.service]
`

func TestCloudInitReadsTheUserData(t *testing.T) {
	i := newRealInstance(t, rootfs.CloudInit, cloudConfig)
	i.on()
	if text := i.await("var/lib/greetings", 1); text != "hello\n" {
		t.Errorf("the unit wrote %q", text)
	}
	if id := i.await("var/lib/cloud/data/instance-id", 1); id != i.Name+"\n" {
		t.Errorf("the instance is %q", id)
	}
	if out, err := i.run("cloud-init", "query", "cloud_name"); !strings.Contains(out, "aws") {
		t.Errorf("the cloud is %q, %v", out, err)
	}
}

// bootstrapToken is a secret that the user data of a node contains.
const bootstrapToken = "abcdef.0123456789abcdef"

// TestNoCopyOfTheTokenOutlivesTheJoin boots each image with the user data of a node. It looks for the token in all files of the
// machine, before and after the kubelet has its certificate, and after a reboot, when cloud-init reads the user data again.
func TestNoCopyOfTheTokenOutlivesTheJoin(t *testing.T) {
	for image, format := range map[string]hyperv1.UserDataFormat{rootfs.Ignition: hyperv1.UserDataFormatIgnition, rootfs.CloudInit: hyperv1.UserDataFormatCloudConfig} {
		t.Run(image, func(t *testing.T) {
			userData, err := nodeconfig.Render(nodeconfig.Inputs{Cluster: nodeconfig.ClusterSettings{ServiceNetworks: []string{"172.31.0.0/16"}}, Format: format}, nodeconfig.Machine{
				Server: "https://api.example.hypershift.local:6443", Token: bootstrapToken, CA: []byte("a CA\n"), ClientCA: []byte("another CA\n"),
				Advertised: netip.MustParseAddrPort("172.20.0.1:6443"),
			})
			if err != nil {
				t.Fatal(err)
			}
			i := newRealInstance(t, image, string(userData))
			i.Instance.Kubelet = true // the user data has no programs
			if err := i.Write(); err != nil {
				t.Fatal(err)
			}
			i.on()
			i.await("etc/kubernetes/bootstrap.kubeconfig", 1)
			i.awaitUnit("hypershift-joined.path", "active")
			if i.filesWithToken() == "" {
				t.Fatal("the token is in no file: the test would find nothing")
			}
			if out, err := i.run("/bin/sh", "-c", "mkdir -p /var/lib/kubelet/pki && touch /var/lib/kubelet/pki/kubelet-client-current.pem"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			i.awaitUnit("hypershift-joined.service", "active")
			if left := i.filesWithToken(); left != "" {
				t.Errorf("after the join, the token is in\n%s", left)
			}
			if out, err := i.run("systemctl", "reboot"); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			i.ended()
			i.on()
			i.awaitUnit("hypershift-joined.service", "active")
			if left := i.filesWithToken(); left != "" {
				t.Errorf("after a reboot, the token is in\n%s", left)
			}
		})
	}
}

// filesWithToken lists the files that contain the token: as text, in user data that is compressed, or encoded.
func (i *instance) filesWithToken() string {
	i.t.Helper()
	const search = `for f in $(find /etc /var /run /tmp /root /home -xdev -type f 2>/dev/null; find /run -type f 2>/dev/null); do
	if { cat $f; zcat -f $f; sed '1,/^$/d' $f | base64 -d | zcat; } 2>/dev/null | grep -aq "$1"; then echo $f; fi
done`
	out, _ := i.run("/bin/sh", "-c", search, "sh", bootstrapToken)
	return out
}

// awaitUnit waits for the state of a unit.
func (i *instance) awaitUnit(unit, state string) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), bootWithin)
	defer cancel()
	var last string
	err := until(ctx, func() (bool, error) {
		out, _ := i.run("systemctl", "is-active", unit)
		last = strings.TrimSpace(out)
		return last == state, nil
	})
	if err != nil {
		status, _ := i.run("systemctl", "status", unit)
		i.t.Fatalf("%s is %s: %v\n%s", unit, last, err, status)
	}
}
