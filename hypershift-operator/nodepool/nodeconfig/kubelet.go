package nodeconfig

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	kjson "sigs.k8s.io/json"
)

const (
	wouldNotJoin = "the node could not join with another value"
	ofTheImage   = "it must fit the machine image"
	isAsked      = "the control plane asks the kubelet for logs and metrics"
)

// reserved lists the fields of a KubeletConfiguration that users cannot set, with the reason or the alternative.
var reserved = map[string]string{
	"authentication":           wouldNotJoin,
	"authorization":            wouldNotJoin,
	"rotateCertificates":       wouldNotJoin,
	"serverTLSBootstrap":       wouldNotJoin,
	"tlsCertFile":              wouldNotJoin,
	"tlsPrivateKeyFile":        wouldNotJoin,
	"registerNode":             wouldNotJoin,
	"providerID":               "every machine has its own",
	"registerWithTaints":       "use spec.taints of the NodePool",
	"clusterDNS":               "it follows the networks of the HostedCluster",
	"clusterDomain":            "it is that of the HostedCluster",
	"podCIDR":                  "the control plane hands it out",
	"enableServer":             isAsked,
	"address":                  isAsked,
	"port":                     isAsked,
	"runOnce":                  "a node runs for long",
	"staticPodPath":            "it is /etc/kubernetes/manifests; write files there with a MachineConfig",
	"containerRuntimeEndpoint": ofTheImage,
	"imageServiceEndpoint":     ofTheImage,
	"cgroupDriver":             ofTheImage,
	"cgroupRoot":               ofTheImage,
}

// readKubeletConfiguration reads the KubeletConfiguration of Kubernetes.
func readKubeletConfiguration(p *parser, m manifest) {
	p.kubelet(m, m.json)
}

// kubeletConfig is the kind of OpenShift that wraps a KubeletConfiguration.
type kubeletConfig struct {
	envelope `json:",inline"`
	Spec     struct {
		KubeletConfig runtime.RawExtension `json:"kubeletConfig"`
		// MachineConfigPoolSelector selects nodes on OpenShift without NodePools. Here the NodePool selects them.
		MachineConfigPoolSelector any `json:"machineConfigPoolSelector"`
		AutoSizingReserved        any `json:"autoSizingReserved"`
		LogLevel                  any `json:"logLevel"`
		TLSSecurityProfile        any `json:"tlsSecurityProfile"`
	} `json:"spec"`
}

// envelope holds the fields of every manifest that are not used here.
type envelope struct {
	APIVersion any `json:"apiVersion"`
	Kind       any `json:"kind"`
	Metadata   any `json:"metadata"`
	Status     any `json:"status"`
}

func readKubeletConfig(p *parser, m manifest) {
	var kc kubeletConfig
	if err := m.strict(&kc); err != nil {
		p.refuse("%s: %v", m, err)
		return
	}
	for _, field := range []struct {
		name, instead string
		value         any
	}{
		{"autoSizingReserved", "set systemReserved and kubeReserved in spec.kubeletConfig", kc.Spec.AutoSizingReserved},
		{"logLevel", "set logging.verbosity in spec.kubeletConfig", kc.Spec.LogLevel},
		{"tlsSecurityProfile", "set tlsMinVersion and tlsCipherSuites in spec.kubeletConfig", kc.Spec.TLSSecurityProfile},
	} {
		if field.value != nil {
			p.refuse("%s: spec.%s is not supported: %s", m, field.name, field.instead)
		}
	}
	if len(kc.Spec.KubeletConfig.Raw) == 0 {
		p.refuse("%s: spec.kubeletConfig is empty: set it, or remove the manifest", m)
		return
	}
	p.kubelet(m, kc.Spec.KubeletConfig.Raw)
}

// kubelet adds the fields of a KubeletConfiguration. It refuses unknown fields, with which the kubelet would not start.
func (p *parser) kubelet(m manifest, text []byte) {
	unknown, err := kjson.UnmarshalStrict(text, &kubeletv1beta1.KubeletConfiguration{})
	if err != nil {
		unknown = append(unknown, err)
	}
	for _, err := range unknown {
		p.refuse("%s: %v", m, err)
	}
	fields := map[string]any{}
	if err := utiljson.Unmarshal(text, &fields); err != nil || len(unknown) > 0 {
		return // already reported
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch name {
		case "apiVersion", "kind", "metadata":
			continue
		}
		if reason := reserved[name]; reason != "" {
			p.refuse("%s: %s cannot be set: %s", m, name, reason)
			continue
		}
		p.kubeletField(m, name, fields[name])
	}
}

// kubeletField adds one field. Two manifests must not set it to different values.
func (p *parser) kubeletField(m manifest, name string, value any) {
	if p.config.Kubelet == nil {
		p.config.Kubelet, p.kubeletSource = map[string]any{}, map[string]string{}
	}
	if previous, ok := p.config.Kubelet[name]; ok && !reflect.DeepEqual(previous, value) {
		p.refuse("%s sets %s to another value than %s: set it once", m, name, p.kubeletSource[name])
		return
	}
	p.config.Kubelet[name] = value
	p.kubeletSource[name] = fmt.Sprintf("%s of ConfigMap %s", m, p.source)
}
