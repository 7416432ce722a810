package etcd

import (
	"embed"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/etcdvolume"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// Keys of ConfigMap etcd-config: the configuration that all members share, the configuration of a single member, whether
// the cluster has been up, and the restore of a backup that it began with.
const (
	ConfigMap  = "etcd-config"
	commonFile = "etcd.yaml"
	memberFile = "member.yaml"
	formedKey  = "formed"
	restoreKey = "restore"
)

//go:embed assets
var assets embed.FS

// Component is the managed etcd of a hosted cluster.
var Component = component.Component[*target.ControlPlane]{
	Name:   names.Etcd,
	Assets: assets,
	Wanted: managed,
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("client-service.yaml", adaptClientService),
		component.On("configmap.yaml", adaptConfig),
		component.On("statefulset.yaml", adaptStatefulSet),
	},
	// etcd reads a certificate and its key for each connection, and the trusted authorities only when it starts. Only a
	// member that starts without data uses formed.
	Reloads: []string{
		"Secret/etcd-server-tls/tls.crt", "Secret/etcd-server-tls/tls.key",
		"Secret/etcd-peer-tls/tls.crt", "Secret/etcd-peer-tls/tls.key",
		"Secret/etcd-client-tls",
		"ConfigMap/" + ConfigMap + "/" + formedKey, "ConfigMap/" + ConfigMap + "/" + restoreKey, "ConfigMap/" + ConfigMap + "/" + memberFile,
		"Secret/" + etcdbackup.RestoreSecret, // the URL is signed again and again
	},
	Explain: explain,
}

func managed(env *target.ControlPlane) bool {
	return env.HCP.Spec.Etcd.ManagementType != hyperv1.Unmanaged
}

// adaptClientService routes clients to ready members. With a single member it routes to the pod before it is ready:
// clients retry until etcd listens, which is a second before the kubelet reports the pod as ready. A pod that is being deleted loses
// the label.
func adaptClientService(env *target.ControlPlane, svc *corev1.Service) error {
	if etcd.Of(env.HCP).Size == 1 {
		svc.Spec.PublishNotReadyAddresses = true
		svc.Spec.Selector[etcd.ConnectionsLabel] = "true"
	}
	return nil
}

// adaptConfig adds the quota of the database, whether the cluster has been up and, for a member without an init
// container, the complete configuration.
func adaptConfig(env *target.ControlPlane, cm *corev1.ConfigMap) error {
	text := cm.Data[commonFile] + "quota-backend-bytes: " + strconv.FormatInt(etcdvolume.Quota(etcdvolume.Size(&env.HCP.Spec.Etcd)), 10) + "\n"
	cluster := etcd.Of(env.HCP)
	if cluster.Size == 1 {
		// By default etcd keeps the last 5,000 writes in memory for members that have to catch up.
		text += "snapshot-catchup-entries: 100\n"
	} else {
		text += checks + onlyGRPC
	}
	cm.Data[commonFile] = text
	cm.Data[formedKey] = strconv.FormatBool(formed(env))
	if id := env.HCP.Status.EtcdRestore; id != "" {
		cm.Data[restoreKey] = id
	}
	if !needsMemberContainer(env) {
		cm.Data[memberFile] = cluster.MemberConfig(text, cluster.Members()[0], cluster.Initial(), stateOf(env))
	}
	return nil
}

// checks compare the data of the members: when a member starts, before it serves, and once a minute by the leader. The
// hash is the one of the last compaction, which etcd computes in any case. A single member has no other data to compare
// with.
const checks = "feature-gates: InitialCorruptCheck=true,CompactHashCheck=true\n"

// onlyGRPC moves HTTP to an address that no program uses, so that clients talk to etcd's own gRPC server. Otherwise that runs in Go's HTTP server:
// when a member stops, it answers requests with an empty 200, which API servers pass to their clients as an error. The gRPC server completes its
// requests, and clients continue with other members. A single member stops at once, because its clients have no other: with its own server it would
// wait for watches for seven seconds. https://github.com/grpc/grpc-go/issues/1384
const onlyGRPC = "listen-client-http-urls: https://127.0.0.1:2382\n"

// stateOf returns the initial-cluster-state of a single member. After a loss of its data it cannot join another member,
// so it exits instead of starting a new cluster.
func stateOf(env *target.ControlPlane) etcd.State {
	if formed(env) {
		return etcd.ExistingCluster
	}
	return etcd.NewCluster
}
