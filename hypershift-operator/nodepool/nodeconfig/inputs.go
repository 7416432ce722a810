package nodeconfig

import (
	"encoding/json"
	"fmt"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Inputs are the inputs of the user data for all machines of a node pool. They are gathered once, by the NodePool
// controller: it hashes them to decide whether machines are replaced, and stores them in the Secret from which the bootstrap
// provider renders user data. A machine adds only its own labels, taints, API server and token (Machine).
type Inputs struct {
	// Pool is the configuration of the node pool.
	Pool Config
	// Cluster holds the HostedCluster's settings for all of its nodes.
	Cluster ClusterSettings

	// The rest is not part of the Secret: each NodeBootstrap has it.

	// Format is the format of the user data; empty: Ignition.
	Format hyperv1.UserDataFormat
	// Version is the kubelet's version, with a v, and Programs are the programs that the machine installs if its image does not have them.
	// nil: its image has them.
	Version  string
	Programs *hyperv1.NodePrograms
}

// Keys of the Secret with the Inputs. An operator that does not know clusterKey still finds its input under poolKey.
const (
	poolKey    = "config"
	clusterKey = "cluster"
)

// Hash returns the name of the Inputs. Machines are replaced when it changes. The version of the nodes is given as also: it
// replaces machines, too.
func (in Inputs) Hash(also ...string) (string, error) {
	cluster, err := in.Cluster.hashed()
	if err != nil {
		return "", err
	}
	return in.Pool.hash(append(also, cluster...))
}

// Encode returns the data of the Secret that stores the Inputs.
func (in Inputs) Encode() (map[string][]byte, error) {
	data := map[string][]byte{}
	var err error
	if data[poolKey], err = json.Marshal(in.Pool); err != nil {
		return nil, fmt.Errorf("encoding the configuration of the node pool: %w", err)
	}
	if data[clusterKey], err = json.Marshal(in.Cluster); err != nil {
		return nil, fmt.Errorf("encoding the cluster-wide node settings: %w", err)
	}
	return data, nil
}

// Decode reads the data of a Secret that Encode has written, or that a version without ClusterSettings has written.
func Decode(data map[string][]byte) (Inputs, error) {
	var in Inputs
	if err := utiljson.Unmarshal(data[poolKey], &in.Pool); err != nil {
		return Inputs{}, fmt.Errorf("decoding the configuration of the node pool: %w", err)
	}
	if err := utiljson.Unmarshal(data[clusterKey], &in.Cluster); err != nil {
		return Inputs{}, fmt.Errorf("decoding the cluster-wide node settings: %w", err)
	}
	return in, nil
}
