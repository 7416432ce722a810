package nodeconfig_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/google/go-cmp/cmp"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig/nodeconfigtest"
)

// zeros is a data URL of compressed zeros.
func zeros(t testing.TB, size int) string {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return `{"source":"data:;base64,` + base64.StdEncoding.EncodeToString(packed.Bytes()) + `","compression":"gzip"}`
}

// ignitionConfig is a MachineConfig with a part of Ignition.
func ignitionConfig(part string) string {
	return machineConfig(`{"config":{"ignition":{"version":"3.4.0"},` + part + `}}`)
}

func TestCompressedContentIsLimited(t *testing.T) {
	for name, c := range map[string]struct {
		files string
		ok    bool
	}{
		"a small file":     {`{"path":"/a","contents":` + zeros(t, 1<<10) + `}`, true},
		"a large file":     {`{"path":"/a","contents":` + zeros(t, 64<<20) + `}`, false},
		"many small files": {`{"path":"/a","append":[` + strings.TrimSuffix(strings.Repeat(zeros(t, 300<<10)+",", 4), ",") + `]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			problems := nodeconfig.CheckFormat(parse(t, ignitionConfig(`"storage":{"files":[`+c.files+`]}`)), hyperv1.UserDataFormatCloudConfig)
			if (len(problems) == 0) != c.ok || !c.ok && !strings.Contains(problems[0], "file /a of a MachineConfig: the compressed contents have more than 1 MiB") {
				t.Errorf("problems %q", problems)
			}
		})
	}
}

func TestYAMLThatGrowsIsRefused(t *testing.T) {
	text := kubelet("x: &a " + strings.Repeat("s", 100_000) + "\ny: [" + strings.Repeat("*a,", 5_000) + "]")
	if _, problems := nodeconfig.Parse([]nodeconfig.Source{{Name: "a", Text: text}}); len(problems) != 1 || !strings.Contains(problems[0].Message, "its aliases make it larger") {
		t.Errorf("problems %v", problems)
	}
}

// A configuration that is accepted has user data in both formats that a machine can read, and changes nothing that makes the machine a
// node of its cluster.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		kubeletText, machineText, mirrorText, kubelet("maxPods: 1\n---\n" + kubelet("maxPods: 2")), "a: &a [*a]", "x: &a {b: c}\ny: [*a, *a, {<<: *a}]",
		ignitionConfig(`"storage":{"files":[{"path":"/etc/kubernetes/credential-providers.yaml","append":[{"source":"data:,x"}]}]}`),
		ignitionConfig(`"storage":{"files":[{"path":"/etc/a","contents":` + zeros(f, 1000) + `},{"path":"/etc/b","contents":{"source":"https://example.com"}}]}`),
		ignitionConfig(`"storage":{"directories":[{"path":"/etc/kubernetes/kubelet.yaml"}]}`),
		ignitionConfig(`"storage":{"links":[{"path":"/etc/kubernetes","target":"/etc"}]}`),
		ignitionConfig(`"storage":{"directories":[{"path":"/etc/kubernetes","mode":448}],"files":[{"path":"/etc/kubernetes/kubelet.yaml/a"}]}`),
		ignitionConfig(`"systemd":{"units":[{"name":"hypershift-resolver.service","mask":true},{"name":"kubelet.service","dropins":[{"name":"a.conf","contents":"[Service]"}]}]}`),
		ignitionConfig(`"passwd":{"users":[{"name":"core","passwordHash":"x","sshAuthorizedKeys":["ssh-rsa a"]},{"name":"ops","uid":7,"groups":["wheel"]}]}`),
		"apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nspec: {containerRuntimeConfig: {logSizeMax: 1Mi, pidsLimit: 9}}",
		"apiVersion: config.openshift.io/v1\nkind: ImageTagMirrorSet\nspec: {imageTagMirrors: [{source: quay.io, mirrors: ['[::1]:5000/a\"]'], mirrorSourcePolicy: NeverContactSource}]}",
	} {
		f.Add(text)
	}
	m := machine()
	plain := rendered(f, inputs(), m)
	f.Fuzz(func(t *testing.T, text string) {
		c, problems := nodeconfig.Parse([]nodeconfig.Source{{Name: "mine", Text: text}})
		for _, p := range problems {
			if p.Source != "mine" || p.Message == "" {
				t.Errorf("a problem that names no source: %+v", p)
			}
		}
		if len(problems) > 0 {
			return
		}
		in := configured(c)
		if first, err := in.Hash(); err != nil {
			t.Fatal(err)
		} else if again, err := configured(decoded(t, in).Pool).Hash(); err != nil || first != again {
			t.Errorf("its hash is %s, and %s after it was stored (%v)", first, again, err)
		}
		node := rendered(t, in, m)
		if node == nil {
			return
		}
		for _, want := range plain.Storage.Files {
			if want.Path == "/etc/kubernetes/kubelet.yaml" {
				continue // it has the user's settings of the kubelet
			}
			if got := node.Storage.Files[slices.IndexFunc(node.Storage.Files, func(f types.File) bool { return f.Path == want.Path })]; !cmp.Equal(got, want) {
				t.Errorf("it changes %s", want.Path)
			}
		}
		for _, want := range plain.Systemd.Units {
			got := node.Systemd.Units[slices.IndexFunc(node.Systemd.Units, func(u types.Unit) bool { return u.Name == want.Name })]
			if want.Name == "kubelet.service" || want.Name == "containerd.service" {
				got.Dropins = slices.DeleteFunc(slices.Clone(got.Dropins), func(d types.Dropin) bool { return d.Name != want.Dropins[0].Name })
			}
			if !cmp.Equal(got, want) {
				t.Errorf("it changes unit %s", want.Name)
			}
		}
		if len(nodeconfig.CheckFormat(c, hyperv1.UserDataFormatCloudConfig)) == 0 {
			userData, err := nodeconfig.Render(inFormat(in, hyperv1.UserDataFormatCloudConfig), m)
			if tooLarge := (&nodeconfig.TooLargeError{}); errors.As(err, &tooLarge) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := nodeconfigtest.CloudConfig(userData); err != nil {
				t.Error(err)
			}
		}
	})
}

// rendered returns the user data as Ignition reads it, or nil if it is too large for EC2.
func rendered(t testing.TB, in nodeconfig.Inputs, m nodeconfig.Machine) *types.Config {
	t.Helper()
	userData, err := nodeconfig.Render(in, m)
	if tooLarge := (&nodeconfig.TooLargeError{}); errors.As(err, &tooLarge) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := nodeconfigtest.Ignition(userData)
	if err != nil {
		t.Fatal(err)
	}
	c, report, err := ignition.Parse([]byte(text))
	if err != nil {
		t.Fatalf("Ignition refuses it: %v: %s", err, report.String())
	}
	return &c
}

// decoded returns the inputs after they were stored in a Secret.
func decoded(t *testing.T, in nodeconfig.Inputs) nodeconfig.Inputs {
	t.Helper()
	data, err := in.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out, err := nodeconfig.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
