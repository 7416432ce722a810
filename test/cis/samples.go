package cis

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A Sample holds a program's flags and files, in one configuration of the cluster.
type Sample struct {
	// Name is the golden file, without its extension.
	Name string
	// Flags are the flags of the program. A flag can be repeated.
	Flags map[string][]string
	// Config is the configuration file of the program.
	Config map[string]any
	// Audit and Encryption are further files of kube-apiserver.
	Audit      auditPolicy
	Encryption encryptionConfiguration
	// Files are those that the user data of a node writes.
	Files map[string]nodeFile
	// Pod is empty for a program that does not run in a pod.
	Pod corev1.PodSpec
}

type nodeFile struct {
	Path        string `json:"path"`
	Content     string `json:"content"`
	Permissions string `json:"permissions"`
	Owner       string `json:"owner"`
}

// The parts of audit.k8s.io and apiserver.config.k8s.io that are evaluated.
type (
	auditPolicy struct {
		Rules []auditRule `json:"rules"`
	}
	auditRule struct {
		Level           string   `json:"level"`
		Users           []string `json:"users"`
		UserGroups      []string `json:"userGroups"`
		Verbs           []string `json:"verbs"`
		NonResourceURLs []string `json:"nonResourceURLs"`
		Resources       []struct {
			Group     string   `json:"group"`
			Resources []string `json:"resources"`
		} `json:"resources"`
	}
	encryptionConfiguration struct {
		Resources []struct {
			Resources []string         `json:"resources"`
			Providers []map[string]any `json:"providers"`
		} `json:"resources"`
	}
)

// The components of the benchmark.
const (
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	etcd              = "etcd"
	kubelet           = "kubelet"
	kubeProxy         = "kube-proxy"
	// pods are the pods of all components of the control plane.
	pods = "pods"
)

// goldens are patterns of the files with the samples of a component, relative to the root of the repository.
var goldens = map[string]string{
	apiServer:         "control-plane-operator/components/kubeapiserver/testdata/*.yaml",
	controllerManager: "control-plane-operator/components/kubecontrollermanager/testdata/*.yaml",
	scheduler:         "control-plane-operator/components/kubescheduler/testdata/*.yaml",
	etcd:              "control-plane-operator/components/etcd/testdata/*.yaml",
	kubeProxy:         "control-plane-operator/hostedcluster/objects/testdata/kube-proxy*.yaml",
	kubelet:           "hypershift-operator/nodepool/nodeconfig/testdata/*.yaml",
	pods:              "control-plane-operator/components/*/testdata/*.yaml control-plane-operator/components/testdata/*.yaml",
}

// Samples returns the samples of each component.
func Samples(root string) (map[string][]Sample, error) {
	all := map[string][]Sample{}
	for component, patterns := range goldens {
		var files []string
		for pattern := range strings.FieldsSeq(patterns) {
			matches, err := filepath.Glob(filepath.Join(root, pattern))
			if err != nil || len(matches) == 0 {
				return nil, fmt.Errorf("reading the samples of %s: no file %s: %w", component, pattern, err)
			}
			files = append(files, matches...)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading the samples of %s: %w", component, err)
			}
			read := manifests
			if component == kubelet {
				read = userData
			}
			sample, err := read(component, string(text))
			if err != nil {
				return nil, fmt.Errorf("reading %s: %w", file, err)
			}
			sample.Name = strings.TrimSuffix(filepath.Base(file), ".yaml")
			if component == pods {
				sample.Name = filepath.Base(filepath.Dir(filepath.Dir(file))) + "/" + sample.Name
			}
			all[component] = append(all[component], sample)
		}
	}
	return all, nil
}

// manifests reads the workload of a component, and the files that it mounts.
func manifests(component, text string) (Sample, error) {
	s := Sample{Flags: map[string][]string{}}
	for document := range strings.SplitSeq(strings.TrimPrefix(text, "---\n"), "\n---\n") {
		var kind struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			return s, fmt.Errorf("reading a manifest: %w", err)
		}
		var err error
		switch kind.Kind {
		case "ConfigMap":
			var cm corev1.ConfigMap
			err = yaml.Unmarshal([]byte(document), &cm)
			for _, key := range slices.Sorted(maps.Keys(cm.Data)) {
				var into any
				switch {
				case key == "policy.yaml":
					into = &s.Audit
				case cm.Name == "etcd-config" && key == "etcd.yaml", cm.Name == scheduler && key == "config.yaml", cm.Name == kubeProxy && key == "config.yaml":
					into = &s.Config
				default:
					continue
				}
				if err == nil {
					err = yaml.Unmarshal([]byte(cm.Data[key]), into)
				}
			}
		case "Secret":
			var secret corev1.Secret
			err = yaml.Unmarshal([]byte(document), &secret)
			if err == nil && secret.Name == "kas-secret-encryption" {
				err = yaml.Unmarshal(secret.Data["config.yaml"], &s.Encryption)
			}
		case "Deployment", "StatefulSet", "DaemonSet":
			var workload appsv1.Deployment // the others have the same fields, as far as they are read here
			err = yaml.Unmarshal([]byte(document), &workload)
			s.Pod = workload.Spec.Template.Spec
		}
		if err != nil {
			return s, fmt.Errorf("reading a manifest of kind %s: %w", kind.Kind, err)
		}
	}
	if len(s.Pod.Containers) == 0 {
		return s, fmt.Errorf("it has no pod")
	}
	if component == pods {
		return s, nil
	}
	for _, c := range s.Pod.Containers {
		if c.Name == component {
			s.Flags = flags(slices.Concat(c.Command, c.Args))
			return s, nil
		}
	}
	return s, fmt.Errorf("it has no container %s", component)
}

// userData reads the kubelet's configuration and flags from user data in the format of cloud-init.
func userData(_, text string) (Sample, error) {
	var data struct {
		Files []nodeFile `json:"write_files"`
	}
	s := Sample{Files: map[string]nodeFile{}}
	if err := yaml.Unmarshal([]byte(text), &data); err != nil {
		return s, fmt.Errorf("reading user data: %w", err)
	}
	for _, f := range data.Files {
		s.Files[f.Path] = f
	}
	if err := yaml.Unmarshal([]byte(s.Files[kubeletConfig].Content), &s.Config); err != nil {
		return s, fmt.Errorf("reading %s: %w", kubeletConfig, err)
	}
	for line := range strings.Lines(s.Files[kubeletUnit].Content) {
		if strings.Contains(line, "kubelet --config") {
			s.Flags = flags(strings.Fields(line))
		}
	}
	if len(s.Config) == 0 || len(s.Flags) == 0 {
		return s, fmt.Errorf("it has no kubelet")
	}
	return s, nil
}

func flags(args []string) map[string][]string {
	all := map[string][]string{}
	for _, arg := range args {
		if name, value, _ := strings.Cut(arg, "="); strings.HasPrefix(name, "--") {
			all[name] = append(all[name], value)
		}
	}
	return all
}
