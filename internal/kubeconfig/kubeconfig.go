// Package kubeconfig reads kubeconfigs that somebody has put into a Secret.
//
// Such a text can ask for more than a connection: to run a program, to read a
// file. Both would be ours, not those of who wrote it, so it is refused. What is
// wrong is said without the words of the parsers, which may quote it.
package kubeconfig

import (
	"errors"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Errors say what is wrong, in words that follow the name of the Secret.
var (
	ErrUnreadable       = errors.New("cannot be read as a kubeconfig with a current context")
	ErrNotSelfContained = errors.New("relies on files or programs; put certificates and keys into it")
)

// Config returns what the text says, which is all in the text.
func Config(text []byte) (*rest.Config, error) {
	raw, err := clientcmd.Load(text)
	if err != nil {
		return nil, ErrUnreadable
	}
	// client-go opens files that are named, so that this comes first: otherwise the
	// error would tell which files there are.
	if !selfContained(raw) {
		return nil, ErrNotSelfContained
	}
	config, err := clientcmd.NewDefaultClientConfig(*raw, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, ErrUnreadable
	}
	return config, nil
}

// selfContained tells whether the current context names neither files nor programs.
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
