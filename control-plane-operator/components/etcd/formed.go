package etcd

import (
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// formed says whether the cluster has been up once, so that a member without
// data has lost it. That is kept where the members read it: who gives up what was
// lost writes "false" there, and it is so until etcd is up again. It is the
// component that has to say so: who was told of the loss was told what it said.
// To delete the ConfigMap gives up nothing.
func formed(env *component.Env) bool {
	i := env.HCP.Status.Initialization
	once := i != nil && ptr.Deref(i.ControlPlaneInitialized, false)
	if env.ConfigMapData(configMap, formedKey) == "false" {
		return once && slices.Contains(env.Available, names.Etcd)
	}
	return once
}

// alone is what etcd says when it is to join a cluster and finds nobody who is in it.
const alone = "cannot fetch cluster info from peer urls"

// explain knows the last words of a member that has lost its data.
func explain(words string) (reason, message string) {
	if !strings.Contains(words, alone) && !strings.Contains(words, etcd.NobodyToJoin) {
		return "", ""
	}
	return hyperv1.EtcdDataMissingReason, "its volume is empty, and there is nobody to get the data of the cluster from: bring back the volume, or the other members; " +
		`or, to give up what was there and begin with the snapshot that spec.etcd names or with nothing, set formed to "false" in ConfigMap ` + configMap
}
