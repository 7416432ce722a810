package nodes

import (
	"errors"
	"fmt"
	"strings"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/vincent-petithory/dataurl"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The files that a machine image of ours reads.
const (
	bootstrapKubeconfig = "/etc/kubernetes/bootstrap.kubeconfig"
	kubeletUnit         = "kubelet.service"
)

// machine is what user data make of one.
type machine struct {
	bootstrap *rest.Config // how to join
	labels    map[string]string
	taints    []corev1.Taint
}

// readUserData reads an Ignition configuration the way a machine does that starts with it.
func readUserData(text []byte) (*machine, error) {
	config, report, err := ignition.ParseCompatibleVersion(text)
	if err != nil {
		return nil, fmt.Errorf("reading the Ignition configuration: %w %s", err, report.String())
	}
	m := &machine{}
	if m.bootstrap, err = bootstrap(config); err != nil {
		return nil, err
	}
	flags, err := kubeletFlags(config)
	if err != nil {
		return nil, err
	}
	m.labels = pairs(flags["node-labels"])
	m.taints, err = taints(flags["register-with-taints"])
	return m, err
}

// bootstrap is how the kubelet reaches the API server for the first time.
func bootstrap(config types.Config) (*rest.Config, error) {
	text, err := file(config, bootstrapKubeconfig)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := clientcmd.Load(text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", bootstrapKubeconfig, err)
	}
	for _, cluster := range kubeconfig.Clusters {
		if path := cluster.CertificateAuthority; path != "" {
			if cluster.CertificateAuthorityData, err = file(config, path); err != nil {
				return nil, err
			}
			cluster.CertificateAuthority = ""
		}
	}
	c, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", bootstrapKubeconfig, err)
	}
	return c, nil
}

// file is the content of a file that Ignition writes.
func file(config types.Config, path string) ([]byte, error) {
	for _, f := range config.Storage.Files {
		if f.Path != path || f.Contents.Source == nil {
			continue
		}
		url, err := dataurl.DecodeString(*f.Contents.Source)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		return decompress(url.Data, f.Contents.Compression)
	}
	return nil, fmt.Errorf("the machine has no %s", path)
}

// kubeletFlags are those in the unit of the kubelet and what is dropped into it; the last one counts.
func kubeletFlags(config types.Config) (map[string]string, error) {
	var texts []string
	for _, unit := range config.Systemd.Units {
		if unit.Name != kubeletUnit {
			continue
		}
		if unit.Contents != nil {
			texts = append(texts, *unit.Contents)
		}
		for _, dropin := range unit.Dropins {
			if dropin.Contents != nil {
				texts = append(texts, *dropin.Contents)
			}
		}
	}
	if len(texts) == 0 {
		return nil, errors.New("the machine has no " + kubeletUnit)
	}
	flags := map[string]string{}
	for word := range strings.FieldsSeq(strings.Join(texts, "\n")) {
		if name, value, found := strings.Cut(word, "="); found && strings.HasPrefix(name, "--") {
			flags[strings.TrimPrefix(name, "--")] = value
		}
	}
	return flags, nil
}

// pairs reads a=b,c=d.
func pairs(text string) map[string]string {
	found := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			found[name] = value
		}
	}
	return found
}

// taints reads key=value:Effect,key:Effect.
func taints(text string) ([]corev1.Taint, error) {
	var all []corev1.Taint
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		rest, effect, found := strings.Cut(part, ":")
		if !found {
			return nil, fmt.Errorf("the kubelet would not start with the taint %q", part)
		}
		key, value, _ := strings.Cut(rest, "=")
		all = append(all, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return all, nil
}
