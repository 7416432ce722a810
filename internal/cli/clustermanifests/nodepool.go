package clustermanifests

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Pool is a NodePool that a user requests.
type Pool struct {
	Namespace, Name, Cluster string
	// InfraID is a label of the object; empty for none.
	InfraID         string
	Replicas        int32
	Release         string
	InstanceType    string
	InstanceProfile string
	SubnetID        string
	// SecurityGroups are added to the default one of the cluster.
	SecurityGroups []string
	RootVolume     hyperv1.Volume
	Arch           hyperv1.Architecture
	UpgradeType    hyperv1.UpgradeType
	AutoRepair     bool
	// DrainTimeout and DetachTimeout limit the drain of a node and the wait for its volumes; nil for no limit.
	DrainTimeout, DetachTimeout *metav1.Duration
}

// DefaultInstanceType returns the instance type for an architecture.
func DefaultInstanceType(arch hyperv1.Architecture) string {
	if arch == hyperv1.ArchitectureARM64 {
		return "m6g.large"
	}
	return "m5.large"
}

// maxSurge and maxUnavailable are the defaults of the API.
var maxSurge, maxUnavailable = intstr.FromInt32(1), intstr.FromInt32(0)

// NodePool returns the NodePool.
func (p Pool) NodePool() *hyperv1.NodePool {
	volume := p.RootVolume
	np := &hyperv1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: hyperv1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name},
		Spec: hyperv1.NodePoolSpec{
			ClusterName: p.Cluster,
			Release:     hyperv1.Release{Image: p.Release},
			Replicas:    &p.Replicas,
			Arch:        p.Arch,
			Platform: hyperv1.NodePoolPlatform{Type: hyperv1.AWSPlatform, AWS: &hyperv1.AWSNodePoolPlatform{
				InstanceType: p.InstanceType, InstanceProfile: p.InstanceProfile,
				Subnet:     hyperv1.AWSResourceReference{ID: &p.SubnetID},
				RootVolume: &volume,
			}},
			Management:              hyperv1.NodePoolManagement{UpgradeType: p.UpgradeType, AutoRepair: p.AutoRepair},
			NodeDrainTimeout:        p.DrainTimeout,
			NodeVolumeDetachTimeout: p.DetachTimeout,
		},
	}
	if p.InfraID != "" {
		np.Labels = map[string]string{InfraIDLabel: p.InfraID}
	}
	for _, id := range p.SecurityGroups {
		np.Spec.Platform.AWS.SecurityGroups = append(np.Spec.Platform.AWS.SecurityGroups, hyperv1.AWSResourceReference{ID: &id})
	}
	if p.UpgradeType == hyperv1.UpgradeTypeInPlace {
		one := intstr.FromInt32(1)
		np.Spec.Management.InPlace = &hyperv1.InPlaceUpgrade{MaxUnavailable: &one}
		return np
	}
	surge, unavailable := maxSurge, maxUnavailable
	np.Spec.Management.Replace = &hyperv1.ReplaceUpgrade{
		Strategy: hyperv1.UpgradeStrategyRollingUpdate, RollingUpdate: &hyperv1.RollingUpdate{MaxSurge: &surge, MaxUnavailable: &unavailable},
	}
	return np
}
