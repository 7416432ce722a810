package machine

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func newAgent(t *testing.T, change func(*Spec)) *agent {
	t.Helper()
	s := Spec{
		Name: "m1", Lab: "/lab", Dir: t.TempDir(), Address: "10.55.16.11/16", Gateway: "10.55.0.1",
		Registry: "10.55.0.1:5000", Pause: "10.55.0.1:5000/pause:lab", ClusterDNS: "10.57.0.10",
	}
	change(&s)
	return &agent{Spec: s, log: slog.New(slog.DiscardHandler)}
}

func TestKubeletConfiguration(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		want   map[string]any // fields that differ between machines
	}{
		"a machine without options": {
			change: func(*Spec) {},
			want:   map[string]any{"address": "10.55.16.11", "providerID": nil, "registerWithTaints": nil},
		},
		"an instance whose node is tainted": {
			change: func(s *Spec) {
				s.ProviderID, s.Taints = "aws:///us-east-1a/i-1", []string{"dedicated=etcd:NoSchedule", "new:NoExecute"}
			},
			want: map[string]any{
				"providerID": "aws:///us-east-1a/i-1",
				"registerWithTaints": []any{
					map[string]any{"key": "dedicated", "value": "etcd", "effect": "NoSchedule"},
					map[string]any{"key": "new", "value": "", "effect": "NoExecute"},
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAgent(t, c.change)
			if err := a.configureKubelet(); err != nil {
				t.Fatal(err)
			}
			got := read(t, a.path(kubeletConfig))
			for field, want := range c.want {
				if !reflect.DeepEqual(got[field], want) {
					t.Errorf("%s is %v, want %v", field, got[field], want)
				}
			}
		})
	}
}

func TestKubeletArguments(t *testing.T) {
	plain := strings.Join(newAgent(t, func(*Spec) {}).kubeletArgs(), " ")
	for _, never := range []string{"--node-labels", "--cloud-provider"} {
		if strings.Contains(plain, never) {
			t.Errorf("%s was not requested: %s", never, plain)
		}
	}
	special := strings.Join(newAgent(t, func(s *Spec) {
		s.Labels, s.ExternalCloud = map[string]string{"b": "2", "a": "1"}, true
	}).kubeletArgs(), " ")
	for _, want := range []string{"--node-labels=a=1,b=2", "--cloud-provider=external", "--node-ip=10.55.16.11", "--hostname-override=m1"} {
		if !strings.Contains(special, want) {
			t.Errorf("no %s: %s", want, special)
		}
	}
}

func TestBridgeConfigurationOfPods(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Spec)
		ranges string
		last   string
	}{
		"a node of a hosted cluster": {
			change: func(*Spec) {},
			ranges: `"ranges":[[{"subnet":"10.56.3.0/24"}]]`,
			last:   `"type":"portmap"`,
		},
		"a node of the management cluster": {
			change: func(s *Spec) { s.NetworkPolicies = true },
			ranges: `"ranges":[[{"subnet":"10.56.3.0/24"}],[{"subnet":"fd00:a38:300::/64"}]]`,
			last:   `"socket":"/run/networkpolicy.sock","type":"networkpolicy"`,
		},
	} {
		t.Run(name, func(t *testing.T) { checkBridge(t, newAgent(t, c.change), c.ranges, c.last) })
	}
}

func checkBridge(t *testing.T, a *agent, ranges, last string) {
	t.Helper()
	if err := a.configureBridge("10.56.3.0/24"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(a.path("cni", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the files for containerd are %v, %v", files, err)
	}
	plugins, ok := read(t, files[0])["plugins"].([]any)
	if !ok || len(plugins) == 0 {
		t.Fatalf("no plugins in %s", files[0])
	}
	for plugin, want := range map[int]string{0: ranges, len(plugins) - 1: last} {
		text, err := json.Marshal(plugins[plugin])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestSpecIsReadBack(t *testing.T) {
	want := newAgent(t, func(s *Spec) { s.Labels, s.KubeProxy = map[string]string{"a": "b"}, true }).Spec
	if err := want.Write(); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(want.Dir); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

// read parses the output of a template, which must be YAML.
func read(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.UnmarshalStrict(text, &content); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, text)
	}
	return content
}
