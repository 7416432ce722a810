package nodeconfig_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig/nodeconfigtest"
)

var update = flag.Bool("update", false, "write the golden files")

// images are the machine images of docs/node-images.md.
var images = map[string]func(*nodeconfig.Inputs){
	"flatcar-kubernetes":   func(*nodeconfig.Inputs) {},
	"flatcar":              func(in *nodeconfig.Inputs) { in.Programs = programs() },
	"image-builder":        func(in *nodeconfig.Inputs) { in.Format = hyperv1.UserDataFormatCloudConfig },
	"ubuntu-debian-al2023": func(in *nodeconfig.Inputs) { in.Format, in.Programs = hyperv1.UserDataFormatCloudConfig, programs() },
}

// programs returns the programs of a release.
func programs() *hyperv1.NodePrograms {
	return &hyperv1.NodePrograms{
		Digest:       "sha256:" + strings.Repeat("a", 64),
		Repositories: []string{"https://mirror.example.com/v2/releases/node-programs", "https://registry.example.com/v2/releases/node-programs"},
		Layers:       []hyperv1.NodeProgramsLayer{{Digest: "sha256:" + strings.Repeat("b", 64), Size: 60 << 20}},
		SandboxImage: "registry.example.com/pause@sha256:" + strings.Repeat("c", 64),
	}
}

func TestUserDataOfEachImage(t *testing.T) {
	for name, change := range images {
		t.Run(name, func(t *testing.T) {
			in := inputs()
			in.Version = "v1.36.3"
			in.Cluster.SSHKey = nodeconfig.Source{Name: "mine", Text: "ssh-ed25519 AAAA me\n"}
			change(&in)
			text, err := nodeconfig.Render(in, machine())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes", len(text))
			file := filepath.Join("testdata", name+".json")
			if in.Format == hyperv1.UserDataFormatCloudConfig {
				file = filepath.Join("testdata", name+".yaml")
				plain, err := nodeconfigtest.CloudConfig(text)
				if err != nil {
					t.Fatal(err)
				}
				text = []byte(plain)
			} else {
				plain, err := nodeconfigtest.Ignition(text)
				if err != nil {
					t.Fatal(err)
				}
				var indented bytes.Buffer
				if err := json.Indent(&indented, []byte(plain), "", " "); err != nil {
					t.Fatal(err)
				}
				text = append(indented.Bytes(), '\n')
			}
			if *update {
				if err := os.WriteFile(file, text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; write it with -args -update", err)
			}
			if diff := cmp.Diff(string(want), string(text)); diff != "" {
				t.Errorf("%s (-want +got); write it with -args -update:\n%s", file, diff)
			}
		})
	}
}

func inFormat(in nodeconfig.Inputs, format hyperv1.UserDataFormat) nodeconfig.Inputs {
	in.Format = format
	return in
}

func TestBothFormatsMakeTheSameNode(t *testing.T) {
	m := machine()
	m.Labels = map[string]string{"tier": "front"}
	in := configured(parse(t, kubeletText, machineText, mirrorText))
	in.Cluster.SSHKey = nodeconfig.Source{Name: "mine", Text: "ssh-ed25519 AAAA me\n"}
	in.Cluster.Proxy = nodeconfig.Proxy{HTTPS: "http://proxy:3128"}
	in.Version, in.Programs = "v1.36.3", programs()
	ignition, cloud := read(t, in, m), read(t, inFormat(in, hyperv1.UserDataFormatCloudConfig), m)
	slices.Sort(ignition.Enabled)
	slices.Sort(cloud.Enabled)
	if diff := cmp.Diff(ignition, cloud); diff != "" {
		t.Errorf("-Ignition +cloud-config:\n%s", diff)
	}
}

// A file that is not text, and a file that follows the creation of its owner.
func TestFilesOfUsersReachAMachineWithCloudInit(t *testing.T) {
	c := parse(t, `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","spec":{"config":{"ignition":{"version":"3.4.0"},
		"passwd":{"users":[{"name":"ops","sshAuthorizedKeys":["ssh-ed25519 BBBB ops"],"groups":["adm"]}]},
		"storage":{"files":[
			{"path":"/etc/blob","contents":{"source":"data:;base64,/w=="}},
			{"path":"/home/ops/x","mode":384,"user":{"name":"ops"},"contents":{"source":"data:,x"}},
			{"path":"/etc/hosts","append":[{"source":"data:,10.0.0.9%20db%0A"}]}],
			"directories":[{"path":"/var/data","mode":448}],"links":[{"path":"/etc/here","target":"/etc/there"}]},
		"systemd":{"units":[{"name":"apt-daily.timer","mask":true},{"name":"chrony.service","enabled":false}]}}}}`)
	in := inFormat(configured(c), hyperv1.UserDataFormatCloudConfig)
	node := read(t, in, machine())
	if node.Files["/etc/blob"] != "\xff" || node.Files["/etc/hosts"] != "10.0.0.9 db\n" || len(node.SSHKeys["ops"]) != 1 {
		t.Errorf("files %q, keys %q", node.Files, node.SSHKeys)
	}
	userData, err := nodeconfig.Render(in, machine())
	if err != nil {
		t.Fatal(err)
	}
	text, err := nodeconfigtest.CloudConfig(userData)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- content: x\n  defer: true\n  owner: ops:root\n  path: /home/ops/x\n  permissions: \"0600\"\n",
		"- - install\n  - -d\n  - -m\n  - \"0700\"\n  - /var/data\n",
		"- - ln\n  - -sfn\n  - /etc/there\n  - /etc/here\n",
		"  - mask\n  - --now\n  - apt-daily.timer\n",
		"  - disable\n  - --now\n  - chrony.service\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func TestWhatCloudInitCannotApplyIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ config, want string }{
		"a disk":            {`"storage":{"disks":[{"device":"/dev/sdb"}]}`, "storage.disks of a MachineConfig cannot be written for cloud-init: use an image with Ignition"},
		"a kernel argument": {`"kernelArguments":{"shouldExist":["quiet"]}`, "kernelArguments.shouldExist of a MachineConfig cannot be written for cloud-init: use an image with Ignition"},
		"a group":           {`"passwd":{"groups":[{"name":"a"}]}`, "passwd.groups of a MachineConfig cannot be written for cloud-init: use an image with Ignition"},
		"a file elsewhere":  {`"storage":{"files":[{"path":"/etc/a","contents":{"source":"https://example.com/a"}}]}`, "file /etc/a of a MachineConfig: its content is not part of the configuration: write a data: URL, or use an image with Ignition"},
		"a file and a unit": {`"storage":{"files":[{"path":"/etc/a","contents":{"source":"data:,a"}}]},"systemd":{"units":[{"name":"a.service","enabled":true}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			config := parse(t, `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","spec":{"config":{"ignition":{"version":"3.4.0"},`+c.config+`}}}`)
			if got := strings.Join(nodeconfig.CheckFormat(config, hyperv1.UserDataFormatCloudConfig), "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := nodeconfig.CheckFormat(config, hyperv1.UserDataFormatIgnition); len(got) > 0 {
				t.Errorf("Ignition: %q", got)
			}
		})
	}
}

// EC2 measures the compressed text: repetitions take no space.
func TestTheLimitIsThatOfTheCompressedText(t *testing.T) {
	in := inFormat(inputs(), hyperv1.UserDataFormatCloudConfig)
	in.Cluster.TrustBundle.Text = strings.Repeat("a", 1<<20)
	if _, err := nodeconfig.Render(in, machine()); err != nil {
		t.Error(err)
	}
	noise := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	for range 20 << 10 {
		text.WriteByte(byte('!' + noise.IntN(90)))
	}
	in.Cluster.TrustBundle.Text = text.String()
	_, err := nodeconfig.Render(in, machine())
	var tooLarge *nodeconfig.TooLargeError
	if !errors.As(err, &tooLarge) || tooLarge.Part != "the additional trust bundle" || tooLarge.PartSize >= 40<<10 {
		t.Errorf("got %v", err)
	}
}

func TestEmptyUserDataIsValid(t *testing.T) {
	if got := string(nodeconfig.Empty(hyperv1.UserDataFormatCloudConfig)); got != "#cloud-config\n" {
		t.Errorf("got %q", got)
	}
	if got := string(nodeconfig.Empty(hyperv1.UserDataFormatIgnition)); got != `{"ignition":{"version":"3.4.0"}}` {
		t.Errorf("got %q", got)
	}
}
