package machines

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodeconfig"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// Spec contains the inputs of a pool's objects. The spec of the pool has been validated.
type Spec struct {
	*objects.Pool
	// Release is the release of the nodes.
	Release *release.Release
	// Programs are the programs that the machines install, or nil if their image has them.
	Programs *hyperv1.NodePrograms
	// AMI is the machine image, and UserDataFormat the format of user data that it reads.
	AMI            string
	UserDataFormat hyperv1.UserDataFormat
	// InstanceType is nil if EC2 did not describe it.
	InstanceType *instancetypes.Type
	// SecurityGroup is the id of the security group of all workers. It is "" if it does not exist yet and the pool has groups of
	// its own.
	SecurityGroup string
	// UserData are the inputs of the user data.
	UserData nodeconfig.Inputs
	Health   Health
	// Current is filled by the Applier.
	Current objects.Current
}

// meta returns the metadata of an object of the pool.
func (s *Spec) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace:   s.Namespace,
		Name:        name,
		Labels:      s.Identity(),
		Annotations: map[string]string{hyperv1.NodePoolAnnotation: objects.Key(s.NodePool)},
	}
}

// clusterMeta returns the metadata of an object that Cluster API reconciles.
func (s *Spec) clusterMeta(name string) metav1.ObjectMeta {
	m := s.meta(name)
	m.OwnerReferences = clusterapi.Owner(s.Cluster)
	return m
}
