package nodeconfig

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/hosted-control-planes/hypershift/internal/yamlsize"
)

// A Source is a text that the user wrote, and the name of the ConfigMap or Secret that has it.
type Source struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A Problem is an error in a Source that the user has to correct.
type Problem struct{ Source, Message string }

func (p Problem) String() string { return fmt.Sprintf("ConfigMap %s: %s", p.Source, p.Message) }

// Parse reads the configuration of a pool. The order of the sources does not matter. The Config is empty if there are
// problems.
func Parse(sources []Source) (Config, []Problem) {
	p := &parser{}
	sources = slices.SortedFunc(slices.Values(sources), func(a, b Source) int { return cmp.Compare(a.Name, b.Name) })
	for _, src := range sources {
		p.source = src.Name
		manifests, err := manifestsOf(src.Text)
		if err != nil {
			p.refuse("it is no YAML: %v", err)
			continue
		}
		if len(manifests) == 0 {
			p.refuse("it has no manifest under its key: add one, or remove it from the NodePool")
		}
		for _, m := range manifests {
			p.read(m)
		}
	}
	if len(p.problems) > 0 {
		return Config{}, p.problems
	}
	return p.config, nil
}

// parser collects the configuration of all manifests.
type parser struct {
	config   Config
	problems []Problem
	// source is the name of the Source that is being read.
	source string
	// kubeletSource names the manifest that sets each field of the kubelet.
	kubeletSource map[string]string
}

func (p *parser) refuse(format string, args ...any) {
	p.problems = append(p.problems, Problem{Source: p.source, Message: fmt.Sprintf(format, args...)})
}

// manifest is one YAML document, as JSON.
type manifest struct {
	gvk  schema.GroupVersionKind
	name string
	json []byte
}

func (m manifest) String() string {
	if m.name == "" {
		return m.gvk.Kind
	}
	return m.gvk.Kind + " " + m.name
}

// manifestsOf splits a text into its documents.
func manifestsOf(text string) ([]manifest, error) {
	var manifests []manifest
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return manifests, nil
		}
		if err != nil {
			return nil, err
		}
		m, err := newManifest(document)
		if err != nil {
			return nil, err
		}
		if m != nil {
			manifests = append(manifests, *m)
		}
	}
}

// newManifest returns nil for a document without content.
func newManifest(document []byte) (*manifest, error) {
	if err := yamlsize.Check(document); err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	if string(text) == "null" {
		return nil, nil
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &head); err != nil {
		return nil, err
	}
	return &manifest{gvk: schema.FromAPIVersionAndKind(head.APIVersion, head.Kind), name: head.Metadata.Name, json: text}, nil
}

// strict decodes a manifest, and refuses fields that the type does not have.
func (m manifest) strict(into any) error {
	unknown, err := kjson.UnmarshalStrict(m.json, into)
	return errors.Join(append(unknown, err)...)
}

// read reads a manifest of a supported kind, and refuses others.
func (p *parser) read(m manifest) {
	if reader := readers[m.gvk]; reader != nil {
		reader(p, m)
		return
	}
	if advice := unsupported[m.gvk.GroupKind()]; advice != "" {
		p.refuse("%s is not supported: %s", m, advice)
		return
	}
	for gvk := range readers {
		if gvk.GroupKind() == m.gvk.GroupKind() {
			p.refuse("%s has apiVersion %s: use %s", m, m.gvk.GroupVersion(), gvk.GroupVersion())
			return
		}
	}
	p.refuse("a manifest of apiVersion %q and kind %q is not supported here: use one of %s", m.gvk.GroupVersion(), m.gvk.Kind, supported())
}

// readers maps each supported kind to its function.
var readers map[schema.GroupVersionKind]func(*parser, manifest)

func init() { // a composite literal would refer to itself, through supported
	readers = map[schema.GroupVersionKind]func(*parser, manifest){
		{Group: "kubelet.config.k8s.io", Version: "v1beta1", Kind: "KubeletConfiguration"}:          readKubeletConfiguration,
		{Group: "machineconfiguration.openshift.io", Version: "v1", Kind: "KubeletConfig"}:          readKubeletConfig,
		{Group: "machineconfiguration.openshift.io", Version: "v1", Kind: "ContainerRuntimeConfig"}: readContainerRuntimeConfig,
		{Group: "machineconfiguration.openshift.io", Version: "v1", Kind: "MachineConfig"}:          readMachineConfig,
		{Group: "config.openshift.io", Version: "v1", Kind: "ImageDigestMirrorSet"}:                 readDigestMirrors,
		{Group: "config.openshift.io", Version: "v1", Kind: "ImageTagMirrorSet"}:                    readTagMirrors,
		{Group: "operator.openshift.io", Version: "v1alpha1", Kind: "ImageContentSourcePolicy"}:     readContentSources,
	}
}

// unsupported has kinds that OpenShift users may have, with the alternative.
var unsupported = map[schema.GroupKind]string{
	{Group: "config.openshift.io", Kind: "ClusterImagePolicy"}: "containerd verifies no signatures; verify them when pods are admitted",
	{Group: "config.openshift.io", Kind: "ImagePolicy"}:        "containerd verifies no signatures; verify them when pods are admitted",
	{Group: "tuned.openshift.io", Kind: "Tuned"}: "no node tuning operator runs on these nodes; write kernel parameters to a file " +
		"/etc/sysctl.d/90-name.conf of a MachineConfig, which belongs in spec.config",
	{Group: "performance.openshift.io", Kind: "PerformanceProfile"}: "no node tuning operator runs on these nodes; set reservedSystemCPUs, " +
		"cpuManagerPolicy, memoryManagerPolicy and topologyManagerPolicy in a KubeletConfiguration and kernel arguments in the Ignition of " +
		"a MachineConfig, which belong in spec.config",
}

// supported lists the kinds that can be used.
func supported() string {
	var kinds []string
	for gvk := range readers {
		kinds = append(kinds, gvk.Kind)
	}
	slices.Sort(kinds)
	return strings.Join(kinds, ", ")
}

// CheckTuning reports every manifest of spec.tuningConfig as a problem, because none of them is supported.
func CheckTuning(sources []Source) []Problem {
	p := &parser{}
	for _, src := range sources {
		p.source = src.Name
		manifests, err := manifestsOf(src.Text)
		if err != nil || len(manifests) == 0 {
			p.refuse("spec.tuningConfig is not supported: remove it")
		}
		for _, m := range manifests {
			advice := cmp.Or(unsupported[m.gvk.GroupKind()], "put it into spec.config if it is one of "+supported()+", or remove it")
			p.refuse("%s in spec.tuningConfig is not supported: %s", m, advice)
		}
	}
	return p.problems
}
