package nodeconfig_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
)

const (
	kubeletText = `
apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: pods}
spec:
  machineConfigPoolSelector: {matchLabels: {a: b}}
  kubeletConfig:
    maxPods: 110
    evictionHard: {memory.available: 200Mi}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
imageGCHighThresholdPercent: 80
`
	machineText = `
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: fast, labels: {machineconfiguration.openshift.io/role: worker}}
spec:
  config:
    ignition: {version: 3.2.0}
    storage:
      files:
      - path: /etc/sysctl.d/90-fast.conf
        mode: 420
        contents: {source: "data:,net.core.somaxconn%20%3D%204096%0A"}
    systemd:
      units:
      - name: kubelet.service
        dropins:
        - {name: 50-nice.conf, contents: "[Service]\nNice=-5\n"}
`
	mirrorText = `
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata: {name: quay}
spec:
  imageDigestMirrors:
  - source: quay.io
    mirrors: [mirror.example.com:5000]
  - source: quay.io/team
    mirrors: [other.example.com/cache/team]
`
)

func machineConfig(spec string) string {
	return `{"apiVersion":"machineconfiguration.openshift.io/v1","kind":"MachineConfig","metadata":{"name":"mine"},"spec":` + spec + `}`
}

func kubelet(fields string) string {
	return "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n" + fields
}

func TestProblemsNameTheFieldToChange(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no YAML":                                            {"a: [", "it is no YAML"},
		"a key twice":                                        {kubelet("maxPods: 1\nmaxPods: 2"), `key "maxPods" already set`},
		"no content":                                         {"---\n# later\n", "it has no manifest under its key"},
		"a kind that is not supported":                       {"apiVersion: v1\nkind: Pod", "use one of ContainerRuntimeConfig, ImageContentSourcePolicy"},
		"no manifest":                                        {"just: text", `apiVersion "" and kind ""`},
		"another version of a kind":                          {"apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration", "use kubelet.config.k8s.io/v1beta1"},
		"signatures":                                         {"apiVersion: config.openshift.io/v1\nkind: ClusterImagePolicy", "verify them when pods are admitted"},
		"an unknown kubelet field":                           {kubelet("maxPod: 1"), `unknown field "maxPod"`},
		"a field with the wrong case":                        {kubelet("MaxPods: 1"), `unknown field "MaxPods"`},
		"a value of another type":                            {kubelet("maxPods: many"), "cannot unmarshal string"},
		"a field that the node needs to join":                {kubelet("authentication: {anonymous: {enabled: true}}"), "authentication cannot be set: the node could not join"},
		"taints":                                             {kubelet("registerWithTaints: []"), "use spec.taints of the NodePool"},
		"another container runtime endpoint":                 {kubelet("containerRuntimeEndpoint: unix:///run/crio.sock"), "it must fit the machine image"},
		"no KubeletConfiguration":                            {"apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec: {}", "spec.kubeletConfig is empty"},
		"automatic reservation":                              {"apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nspec: {autoSizingReserved: true, kubeletConfig: {maxPods: 1}}", "set systemReserved and kubeReserved"},
		"two values of one field":                            {kubelet("maxPods: 1\n---\n" + kubelet("maxPods: 2")), "KubeletConfiguration sets maxPods to another value than KubeletConfiguration of ConfigMap a: set it once"},
		"pids of containers":                                 {"apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nspec: {containerRuntimeConfig: {pidsLimit: 9}}", "set podPidsLimit"},
		"another runtime":                                    {"apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nspec: {containerRuntimeConfig: {defaultRuntime: crun}}", "the machine image has runc"},
		"old Ignition":                                       {machineConfig(`{"config":{"ignition":{"version":"2.2.0"}}}`), "must be Ignition of version 3.0.0 to 3.4.0"},
		"an Ignition configuration that is not valid":        {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"relative"}]}}}`), "path not absolute"},
		"kernel arguments outside spec.config":               {machineConfig(`{"kernelArguments":["quiet"]}`), "spec.config.kernelArguments.shouldExist"},
		"another kernel":                                     {machineConfig(`{"kernelType":"realtime"}`), "make a machine image that has it"},
		"an unknown MachineConfig field":                     {machineConfig(`{"configs":{}}`), `unknown field "spec.configs"`},
		"a file that the operator writes":                    {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/kubelet.yaml"}]}}}`), "/etc/kubernetes/kubelet.yaml is written by the operator"},
		"the client authority of the kubelet":                {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/pki/kubelet-clients.crt"}]}}}`), "is written by the operator"},
		"the script that updates authorities":                {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/authorities.sh"}]}}}`), "/etc/kubernetes/authorities.sh is written by the operator"},
		"the address of the API server":                      {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/apiserver"}]}}}`), "/etc/kubernetes/apiserver is written by the operator"},
		"the timer of the authorities":                       {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"hypershift-authorities.timer","mask":true}]}}}`), "unit hypershift-authorities.timer is written by the operator"},
		"a drop-in of the service of the authorities":        {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"hypershift-authorities.service","dropins":[{"name":"a.conf","contents":"[Service]"}]}]}}}`), "unit hypershift-authorities.service is written by the operator"},
		"the timer of the authorities, as a file":            {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/systemd/system/hypershift-authorities.timer"}]}}}`), "is written by the operator"},
		"the timer of the authorities, as a link":            {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"storage":{"links":[{"path":"/run/systemd/system/hypershift-authorities.timer.d/a.conf","target":"/dev/null"}]}}}`), "is written by the operator"},
		"the socket to the API server":                       {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"hypershift-apiserver.socket","enabled":false}]}}}`), "unit hypershift-apiserver.socket is written by the operator"},
		"a hosts.toml that the operator writes":              {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/containerd/certs.d/quay.io/hosts.toml"}]}}}`), "is written by the operator"},
		"a masked kubelet":                                   {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"kubelet.service","mask":true}]}}}`), "without unit kubelet.service there is no node"},
		"the operator's drop-in of the kubelet":              {machineConfig(`{"config":{"ignition":{"version":"3.2.0"},"systemd":{"units":[{"name":"kubelet.service","dropins":[{"name":"90-hypershift.conf","contents":"[Service]\n"}]}]}}}`), "use another name"},
		"an Ignition configuration that replaces all others": {machineConfig(`{"config":{"ignition":{"version":"3.2.0","config":{"replace":{"source":"https://example.com/all"}}}}}`), "use merge"},
		"a mirror of a repository": {"apiVersion: config.openshift.io/v1\nkind: ImageTagMirrorSet\nspec: {imageTagMirrors: [{source: quay.io/a/b, mirrors: [m.example.com/x]}]}",
			"let the mirror end in /a/b, or mirror the whole of quay.io"},
		"a wildcard":                           {"apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nspec: {imageDigestMirrors: [{source: '*.io', mirrors: [m.example.com]}]}", "without wildcards"},
		"a repository that is never contacted": {"apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nspec: {imageDigestMirrors: [{source: quay.io/a, mirrors: [m.example.com/a], mirrorSourcePolicy: NeverContactSource}]}", "let it be the whole registry quay.io"},
		"mirrors in another kind's list":       {"apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nspec: {imageTagMirrors: [{source: quay.io, mirrors: [m.example.com]}]}", "no mirrors under the field that its kind has"},
	} {
		t.Run(name, func(t *testing.T) {
			config, problems := nodeconfig.Parse([]nodeconfig.Source{{Name: "a", Text: c.text}})
			if len(problems) == 0 || !strings.Contains(fmt.Sprint(problems), c.want) || !strings.HasPrefix(problems[0].String(), "ConfigMap a: ") {
				t.Errorf("the problems are %v, want %q", problems, c.want)
			}
			if diff := cmp.Diff(nodeconfig.Config{}, config); diff != "" {
				t.Errorf("there is a configuration in spite of a problem:\n%s", diff)
			}
		})
	}
}

func TestUsersCannotSetFieldsOfTheOperator(t *testing.T) {
	var ours map[string]any
	if err := yaml.Unmarshal([]byte(read(t, inputs(), machine()).Files["/etc/kubernetes/kubelet.yaml"]), &ours); err != nil {
		t.Fatal(err)
	}
	delete(ours, "apiVersion")
	delete(ours, "kind")
	delete(ours, "tlsCipherSuites") // a default, which users can replace
	for field, value := range ours {
		text, err := yaml.Marshal(map[string]any{field: value})
		if err != nil {
			t.Fatal(err)
		}
		_, problems := nodeconfig.Parse([]nodeconfig.Source{{Name: "a", Text: kubelet(string(text))}})
		if len(problems) != 1 || !strings.Contains(problems[0].Message, field+" cannot be set") {
			t.Errorf("%s would be overwritten in silence: %v", field, problems)
		}
	}
}

func TestUsersReplaceTheCiphersOfTheKubelet(t *testing.T) {
	c := parse(t, kubelet("tlsCipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]\n"))
	got := read(t, configured(c), machine()).Files["/etc/kubernetes/kubelet.yaml"]
	if !strings.Contains(got, "tlsCipherSuites:\n- TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\n") || strings.Contains(got, "ECDSA") {
		t.Errorf("configuration of the kubelet:\n%s", got)
	}
}

func TestNeverContactSourceRemovesTheRegistryFromItsMirrors(t *testing.T) {
	c := parse(t, `{"apiVersion":"config.openshift.io/v1","kind":"ImageTagMirrorSet","spec":{"imageTagMirrors":[{"source":"docker.io","mirrors":["one.example.com","two.example.com/hub"],"mirrorSourcePolicy":"NeverContactSource"}]}}`)
	want := `server = "https://two.example.com/v2/hub"
capabilities = ["pull", "resolve"]
override_path = true

[host."https://one.example.com"]
capabilities = ["pull", "resolve"]
`
	if diff := cmp.Diff(want, read(t, configured(c), machine()).Files["/etc/containerd/certs.d/docker.io/hosts.toml"]); diff != "" {
		t.Errorf("mirrors (-want +got):\n%s", diff)
	}
}

func TestTheLogSizeOfTheContainerRuntimeIsSetInTheKubelet(t *testing.T) {
	c := parse(t, "apiVersion: machineconfiguration.openshift.io/v1\nkind: ContainerRuntimeConfig\nspec: {containerRuntimeConfig: {logSizeMax: 50Mi, defaultRuntime: runc}}")
	if got := read(t, configured(c), machine()).Files["/etc/kubernetes/kubelet.yaml"]; !strings.Contains(got, "containerLogMaxSize: 50Mi\n") {
		t.Errorf("configuration of the kubelet:\n%s", got)
	}
}

func TestTuningIsNotSupported(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a profile of tuned":                 {"apiVersion: tuned.openshift.io/v1\nkind: Tuned\nmetadata: {name: fast}", "Tuned fast in spec.tuningConfig is not supported: no node tuning operator runs on these nodes; write kernel parameters"},
		"a performance profile":              {"apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile", "set reservedSystemCPUs"},
		"a kind of spec.config is refused":   {kubelet("maxPods: 1"), "put it into spec.config"},
		"a text that is not YAML is refused": {"a: [", "remove it"},
		"an empty text is refused":           {"", "remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			if problems := nodeconfig.CheckTuning([]nodeconfig.Source{{Name: "a", Text: c.text}}); !strings.Contains(fmt.Sprint(problems), c.want) {
				t.Errorf("the problems are %v, want %q", problems, c.want)
			}
		})
	}
}
