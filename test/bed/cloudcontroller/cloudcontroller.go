// Package cloudcontroller says how the real cloud-controller-manager of AWS runs against the emulator, so that Services of type
// LoadBalancer become load balancers there, and nodes get what their instances say.
package cloudcontroller

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
	"github.com/hosted-control-planes/hypershift/test/bed/process"
)

// Name is that of the program, and User that of who it is in the cluster.
const (
	Name = "aws-cloud-controller-manager"
	User = "system:cloud-controller-manager"
)

// RBAC are the manifests with what User may do.
//
//go:embed rbac.yaml
var RBAC string

// Options say whom it works for.
type Options struct {
	AWS     *awsemulator.Emulator
	Account *awsemulator.Management
	// Program is its path; hack/binaries builds it.
	Program string
	// Kubeconfig is that of User.
	Kubeconfig string
	// Dir gets its configuration.
	Dir string
}

// Spec says how to run it, and where it says that it is well.
func Spec(o Options) (process.Spec, string, error) {
	config := filepath.Join(o.Dir, "cloud.conf")
	if err := os.WriteFile(config, []byte(configuration(o.Account)), 0o644); err != nil {
		return process.Spec{}, "", fmt.Errorf("configuring the cloud-controller-manager: %w", err)
	}
	port, err := process.FreePort()
	if err != nil {
		return process.Spec{}, "", err
	}
	spec := process.Spec{
		Name: Name,
		Path: o.Program,
		Args: []string{
			"--cloud-provider=aws",
			"--cloud-config=" + config,
			"--kubeconfig=" + o.Kubeconfig,
			"--authentication-skip-lookup=true",
			"--configure-cloud-routes=false",
			"--leader-elect=false",
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(port),
			"--v=2",
		},
		// Nothing of the user's own AWS configuration: it must not reach AWS from here.
		Env: append(o.AWS.Env(o.Account.Account), "HOME="+o.Dir),
	}
	return spec, fmt.Sprintf("https://127.0.0.1:%d/healthz", port), nil
}

// configuration names a subnet so that the controller does not ask the metadata of the machine it runs on for one.
func configuration(account *awsemulator.Management) string {
	subnet := account.Private[0]
	return strings.Join([]string{
		"[Global]",
		"Zone = " + subnet.Zone,
		"Region = " + awsemulator.RegionOf(subnet.Zone),
		"VPC = " + account.VPC,
		"SubnetID = " + subnet.ID,
		"KubernetesClusterID = " + account.ClusterID,
		"",
	}, "\n")
}
