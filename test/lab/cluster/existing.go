package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
)

// existing reports whether to use the cluster of KUBECONFIG. It needs a second variable, which envtest also reads,
// because many shells set a KUBECONFIG that points to a cluster which no test should touch.
func existing() bool { return os.Getenv("USE_EXISTING_CLUSTER") == "true" }

// Existing reports whether the lab is a cluster of the user, without machines, AWS, load balancers and a registry of the
// lab.
func (l *Lab) Existing() bool { return l.Dir == "" }

// useExisting checks that the cluster exists and prints its address.
func useExisting(_ context.Context, o Options) (*Lab, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	lab := &Lab{Kubeconfig: os.Getenv("KUBECONFIG")}
	if lab.Kubeconfig == "" {
		return nil, errors.New("USE_EXISTING_CLUSTER is true, and KUBECONFIG names no file")
	}
	if err := lab.readKubeconfig(); err != nil {
		return nil, err
	}
	config := *lab.Config
	config.Timeout = 10 * time.Second
	client, err := kubernetes.NewForConfig(&config)
	if err != nil {
		return nil, fmt.Errorf("using the existing cluster of KUBECONFIG: %w", err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("using the existing cluster of KUBECONFIG: %w", err)
	}
	fmt.Fprintf(o.Progress, "using the existing cluster of KUBECONFIG: %s, Kubernetes %s\n", lab.Config.Host, version.GitVersion)
	return lab, nil
}
