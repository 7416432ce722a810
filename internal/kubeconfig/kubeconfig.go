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
)

// Errors say what is wrong, in words that follow the name of the Secret.
var (
	ErrUnreadable       = errors.New("cannot be read as a kubeconfig with a current context")
	ErrNotSelfContained = errors.New("relies on files or programs; put certificates and keys into it")
)

// Config returns what the text says, which is all in the text.
func Config(text []byte) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, ErrUnreadable
	}
	if config.ExecProvider != nil || config.AuthProvider != nil || config.BearerTokenFile != "" || config.CAFile != "" || config.CertFile != "" || config.KeyFile != "" {
		return nil, ErrNotSelfContained
	}
	return config, nil
}
