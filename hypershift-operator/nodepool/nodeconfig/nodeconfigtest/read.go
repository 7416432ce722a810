// Package nodeconfigtest reads user data as a machine would, for tests.
package nodeconfigtest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	ignition "github.com/coreos/ignition/v2/config/v3_4"
	"github.com/coreos/ignition/v2/config/v3_4/types"
	"github.com/vincent-petithory/dataurl"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

// A Node holds the configuration with which a machine's kubelet would start.
type Node struct {
	// Server is the URL of the API server, KubeletServer the URL that the kubelet uses, CA the authority to trust, Token the
	// bootstrap token.
	Server, KubeletServer, Token string
	CA                           []byte
	Labels                       map[string]string
	Taints                       []corev1.Taint
	// Files by path, unpacked; Units and their drop-ins, as "unit" and "unit.d/drop-in".
	Files, Units map[string]string
	// Modes are the modes of the files; Enabled are the units that start with the machine, in their order.
	Modes   map[string]os.FileMode
	Enabled []string
	// SSHKeys by user.
	SSHKeys map[string][]string
}

// Read reads user data of either format. Data that Ignition would refuse is an error.
func Read(userData []byte) (*Node, error) {
	if bytes.HasPrefix(userData, []byte("MIME-Version:")) {
		return readCloudConfig(userData)
	}
	c, err := parse(userData)
	if err != nil {
		return nil, err
	}
	if c.Ignition.Config.Replace.Source != nil {
		text, err := unpack(c.Ignition.Config.Replace)
		if err != nil {
			return nil, fmt.Errorf("unpacking user data: %w", err)
		}
		if c, err = parse([]byte(text)); err != nil {
			return nil, err
		}
	}
	n := &Node{Files: map[string]string{}, Units: map[string]string{}, Modes: map[string]os.FileMode{}, SSHKeys: map[string][]string{}}
	for _, f := range c.Storage.Files {
		if n.Files[f.Path], err = unpack(f.Contents); err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", f.Path, err)
		}
		n.Modes[f.Path] = os.FileMode(ptr.Deref(f.Mode, 0o644))
	}
	for _, u := range c.Systemd.Units {
		n.Units[u.Name] = ptr.Deref(u.Contents, "")
		if ptr.Deref(u.Enabled, false) {
			n.Enabled = append(n.Enabled, u.Name)
		}
		for _, d := range u.Dropins {
			n.Units[u.Name+".d/"+d.Name] = ptr.Deref(d.Contents, "")
		}
	}
	for _, u := range c.Passwd.Users {
		for _, key := range u.SSHAuthorizedKeys {
			n.SSHKeys[u.Name] = append(n.SSHKeys[u.Name], string(key))
		}
	}
	return n, errors.Join(n.readKubeconfig(), n.readFlags())
}

func parse(text []byte) (types.Config, error) {
	c, report, err := ignition.Parse(text)
	if err == nil && len(report.Entries) > 0 {
		err = errors.New("it has warnings")
	}
	if err != nil {
		return c, fmt.Errorf("parsing user data: %w: %s", err, report.String())
	}
	return c, nil
}

// Ignition returns the text of the configuration that user data for Ignition names.
func Ignition(userData []byte) (string, error) {
	c, err := parse(userData)
	if err != nil {
		return "", err
	}
	return unpack(c.Ignition.Config.Replace)
}

func unpack(r types.Resource) (string, error) {
	source, err := dataurl.DecodeString(ptr.Deref(r.Source, "data:,"))
	if err != nil {
		return "", err
	}
	if ptr.Deref(r.Compression, "") != "gzip" {
		return string(source.Data), nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(source.Data))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(reader)
	return string(text), err
}

func (n *Node) readKubeconfig() error {
	kubeconfig, err := clientcmd.Load([]byte(n.Files["/etc/kubernetes/bootstrap.kubeconfig"]))
	if err != nil {
		return fmt.Errorf("reading the bootstrap kubeconfig: %w", err)
	}
	current := kubeconfig.Contexts[kubeconfig.CurrentContext]
	if current == nil {
		return errors.New("the bootstrap kubeconfig has no context")
	}
	cluster, user := kubeconfig.Clusters[current.Cluster], kubeconfig.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil {
		return errors.New("the bootstrap kubeconfig has no cluster or no user")
	}
	n.KubeletServer, n.Token, n.CA = cluster.Server, user.Token, []byte(n.Files[cluster.CertificateAuthority])
	server, _, _ := strings.Cut(n.Files["/etc/kubernetes/apiserver"], "\n")
	n.Server = strings.TrimPrefix(server, "SERVER=")
	return nil
}

// readFlags reads the flags that a kubelet has in addition to its configuration.
func (n *Node) readFlags() error {
	n.Labels = map[string]string{}
	for _, word := range strings.Fields(n.Units["kubelet.service.d/90-hypershift.conf"]) {
		flag, value, _ := strings.Cut(word, "=")
		switch flag {
		case "--node-labels":
			for _, label := range strings.Split(value, ",") {
				key, value, _ := strings.Cut(label, "=")
				n.Labels[key] = value
			}
		case "--register-with-taints":
			for _, taint := range strings.Split(value, ",") {
				name, effect, found := strings.Cut(taint, ":")
				if !found {
					return fmt.Errorf("taint %q has no effect", taint)
				}
				key, value, _ := strings.Cut(name, "=")
				n.Taints = append(n.Taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
			}
		}
	}
	return nil
}
