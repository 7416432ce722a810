package etcd

import (
	"embed"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// What ConfigMap etcd-config has: the configuration that all members share, that
// of a single one, and whether the cluster has been up.
const (
	configMap  = "etcd-config"
	commonFile = "etcd.yaml"
	memberFile = "member.yaml"
	formedKey  = "formed"
)

//go:embed assets
var assets embed.FS

// Component is the etcd of a hosted cluster that has not brought its own.
var Component = component.Component{
	Name:   names.Etcd,
	Assets: assets,
	Wanted: managed,
	Adapters: []component.Adapter{
		component.On("client-service.yaml", adaptClientService),
		component.On("configmap.yaml", adaptConfig),
		component.On("statefulset.yaml", adaptStatefulSet),
	},
	// etcd reads a certificate and its key when somebody connects, and the
	// bundle that it trusts when it starts. Whether the cluster has been up is for
	// a member that starts without data.
	Reloads: []string{
		"Secret/etcd-server-tls/tls.crt", "Secret/etcd-server-tls/tls.key",
		"Secret/etcd-peer-tls/tls.crt", "Secret/etcd-peer-tls/tls.key",
		"Secret/etcd-client-tls",
		"ConfigMap/" + configMap + "/" + formedKey, "ConfigMap/" + configMap + "/" + memberFile,
	},
	Explain: explain,
}

func managed(env *component.Env) bool { return env.HCP.Spec.Etcd.ManagementType != hyperv1.Unmanaged }

// adaptClientService leads clients to a member that is ready. To the only one it
// leads them at once: they try until it listens, which is a second before the
// kubelet finds out that it is ready.
func adaptClientService(env *component.Env, svc *corev1.Service) error {
	svc.Spec.PublishNotReadyAddresses = etcd.Of(env.HCP).Size == 1
	return nil
}

// adaptConfig adds how much the volume holds, whether the cluster has been up
// and, for a member that needs to decide nothing, all that is its own.
func adaptConfig(env *component.Env, cm *corev1.ConfigMap) error {
	text := cm.Data[commonFile] + "quota-backend-bytes: " + strconv.FormatInt(quota(volumeSize(env.HCP)), 10) + "\n"
	cluster := etcd.Of(env.HCP)
	if cluster.Size == 1 {
		// The last 5,000 writes would be kept in memory for others to catch up.
		text += "snapshot-catchup-entries: 100\n"
	} else {
		text += checks
	}
	cm.Data[commonFile] = text
	cm.Data[formedKey] = strconv.FormatBool(formed(env))
	if !decides(env) {
		cm.Data[memberFile] = cluster.MemberConfig(text, cluster.Members()[0], cluster.Initial(), stateOf(env))
	}
	return nil
}

// checks compare the data of the members: when one starts, before it serves, and
// by the leader once in a minute. The hash is that of the last compaction, which
// is computed in any case. A single member has nothing to compare its data with.
const checks = "feature-gates: InitialCorruptCheck=true,CompactHashCheck=true\n"

// stateOf is what a single member is told. There is nobody whom it could join,
// so that one that has lost its data ends, and does not begin another cluster.
func stateOf(env *component.Env) etcd.State {
	if formed(env) {
		return etcd.ExistingCluster
	}
	return etcd.NewCluster
}
