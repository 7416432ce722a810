package waitfor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// kubeconfig defines the fields that our kubeconfigs use: certificates and keys are inline. client-go, which reads every form,
// is larger than this whole program.
type kubeconfig struct {
	Current  string `json:"current-context"`
	Contexts []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster string `json:"cluster"`
			User    string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
	Clusters []struct {
		Name    string  `json:"name"`
		Cluster cluster `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string `json:"name"`
		User user   `json:"user"`
	} `json:"users"`
}

type cluster struct {
	Server string `json:"server"`
	Trust  []byte `json:"certificate-authority-data"`
}

type user struct {
	Certificate []byte `json:"client-certificate-data"`
	Key         []byte `json:"client-key-data"`
}

// checkAPIServer returns a check that authenticates with the kubeconfig, because an API server may refuse anonymous requests.
func checkAPIServer(file, target string) (func(context.Context) error, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading --kubeconfig: %w", err)
	}
	server, who, err := current(text)
	if err != nil {
		return nil, fmt.Errorf("using %s: %w", file, err)
	}
	config, err := trusting(server.Trust)
	if err != nil {
		return nil, fmt.Errorf("using %s: %w", file, err)
	}
	certificate, err := tls.X509KeyPair(who.Certificate, who.Key)
	if err != nil {
		return nil, fmt.Errorf("using the client certificate in %s: %w", file, err)
	}
	config.Certificates = []tls.Certificate{certificate}
	if target == "" {
		target = server.Server + "/readyz"
	}
	c := client(config)
	return func(ctx context.Context) error { return get(ctx, c, target) }, nil
}

// current returns the cluster and user of the current context.
func current(text []byte) (cluster, user, error) {
	var k kubeconfig
	if err := yaml.Unmarshal(text, &k); err != nil {
		return cluster{}, user{}, errors.New("it is not a kubeconfig") // the reason would quote it
	}
	for _, x := range k.Contexts {
		for _, c := range k.Clusters {
			for _, u := range k.Users {
				if x.Name == k.Current && c.Name == x.Context.Cluster && u.Name == x.Context.User {
					return c.Cluster, u.User, nil
				}
			}
		}
	}
	return cluster{}, user{}, errors.New("its current context has no cluster or no user")
}
