package etcd

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// formed returns whether the cluster has been up before, so that a member without data has lost it. The ConfigMap holds
// the value, because members read it there. A user who gives up the lost data sets it to "false", and it stays "false"
// until etcd is available again. The status of the component may be older than the value, and EtcdAvailable is Unknown while neither the API server
// nor a pod of etcd reports anything: only an API server that reads from etcd shows that the data has begun again. Deleting the ConfigMap does not give up data. A restore in place begins while the control plane has no pods, and gives up
// the data, too.
func formed(env *target.ControlPlane) bool {
	i := env.HCP.Status.Initialization
	once := i != nil && ptr.Deref(i.ControlPlaneInitialized, false)
	if env.ConfigMapData(ConfigMap, restoreKey) != env.HCP.Status.EtcdRestore {
		return false
	}
	if env.ConfigMapData(ConfigMap, formedKey) == "false" {
		return once && !env.HCP.Sleeps() && slices.Contains(env.Available, names.Etcd) && meta.IsStatusConditionTrue(env.HCP.Status.Conditions, hyperv1.EtcdAvailable)
	}
	return once
}

// alone is a part of etcd's message when it has to join a cluster and reaches no member.
const alone = "cannot fetch cluster info from peer urls"

// explain recognizes the termination message of a member that has lost its data.
func explain(words string) (reason, message string) {
	if !strings.Contains(words, alone) && !strings.Contains(words, etcd.NoMajorityToJoin) {
		return "", ""
	}
	return hyperv1.EtcdDataMissingReason, "its volume is empty, and no other member has the data of the cluster: restore the volume or the other members; " +
		`or, to give up the lost data and begin with the snapshot in spec.etcd or without data, set formed to "false" in ConfigMap ` + ConfigMap
}
