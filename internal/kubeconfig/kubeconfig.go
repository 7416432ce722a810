// Package kubeconfig reads kubeconfigs that another user has written into a Secret.
//
// Such a text can contain more than a connection: a program to run or a file to read. Both would belong to this process and
// not to the author of the text, so it is refused. Errors leave out the messages of the parsers, which may quote the text.
package kubeconfig

import (
	"errors"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hosted-control-planes/hypershift/internal/yamlsize"
)

// Errors, worded to follow the name of the Secret.
var (
	ErrUnreadable       = errors.New("cannot be read as a kubeconfig with a current context")
	ErrNotSelfContained = errors.New("relies on files or programs; put certificates and keys into it")
)

// Config returns the configuration of a client. It depends on the text only.
func Config(text []byte) (*rest.Config, error) {
	if yamlsize.Check(text) != nil {
		return nil, ErrUnreadable
	}
	raw, err := clientcmd.Load(text)
	if err != nil {
		return nil, ErrUnreadable
	}
	// client-go opens files that are named. Without this check first, its error would reveal which files exist.
	if !selfContained(raw) {
		return nil, ErrNotSelfContained
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, ErrUnreadable
	}
	return config, nil
}

// selfContained reports whether the current context refers to neither files nor programs.
func selfContained(raw *clientcmdapi.Config) bool {
	current := raw.Contexts[raw.CurrentContext]
	if current == nil {
		return true
	}
	if c := raw.Clusters[current.Cluster]; c != nil && c.CertificateAuthority != "" {
		return false
	}
	u := raw.AuthInfos[current.AuthInfo]
	return u == nil || u.Exec == nil && u.AuthProvider == nil && u.TokenFile == "" && u.ClientCertificate == "" && u.ClientKey == ""
}
