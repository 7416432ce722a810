package etcd

import (
	"path"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/etcdbackup"
	"github.com/hosted-control-planes/hypershift/internal/etcdvolume"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// The init containers of the asset.
const (
	fetch   = "fetch"
	restore = "restore"
	member  = "member"
)

// reconnecting is how long, in seconds, a rollout waits after a member is ready before it replaces the next one. A member gets another
// address after its restart. The API servers connect to it with a back-off of several seconds (gRPC: 1 s, then 1.6 times more each), and
// until the DNS server has forgotten the former address. Without the wait an API server could have no connection at all when the last
// member is replaced.
const reconnecting = 15

// refusing is how long, in seconds, a single member that is being deleted serves its connections while new ones are refused: the
// EndpointSlice and then kube-proxy, which writes changes at most once a second by default (minSyncPeriod), follow the label.
const refusing = 5

// restores is true until a cluster that begins with a snapshot has been up.
func restores(env *target.ControlPlane) bool { return fromSnapshot(env) && !formed(env) }

// fromSnapshot is true for a cluster that begins with a snapshot, or has begun with one.
func fromSnapshot(env *target.ControlPlane) bool {
	m := env.HCP.Spec.Etcd.Managed
	return m != nil && len(m.Storage.RestoreSnapshotURL) > 0 || env.HCP.Status.EtcdRestore != ""
}

// needsMemberContainer returns whether a member has to decide how it starts.
func needsMemberContainer(env *target.ControlPlane) bool {
	return etcd.Of(env.HCP).Size > 1 || restores(env)
}

func adaptStatefulSet(env *target.ControlPlane, s *appsv1.StatefulSet) error {
	cluster := etcd.Of(env.HCP)
	s.Spec.Replicas = ptr.To(int32(cluster.Size)) //nolint:gosec // 1 or 3 members
	claim := &s.Spec.VolumeClaimTemplates[0].Spec
	claim.StorageClassName = etcdvolume.Settings(&env.HCP.Spec.Etcd).StorageClassName
	claim.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: etcdvolume.Size(&env.HCP.Spec.Etcd)}

	pod := &s.Spec.Template.Spec
	if cluster.Size == 1 {
		metav1.SetMetaDataLabel(&s.Spec.Template.ObjectMeta, etcd.ConnectionsLabel, "true")
		*pod.TerminationGracePeriodSeconds += refusing
		component.Container(pod, names.Etcd).Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: refusing}}}
	}
	if m := env.HCP.Spec.Etcd.Managed; m != nil && m.Scheduling != nil {
		schedule(pod, *m.Scheduling)
	}
	if restores(env) {
		restoreFrom(pod, env.HCP, cluster)
		target.TrustUser(env, pod)
	} else {
		drop(pod, fetch, restore)
		unmount(pod, "snapshot")
	}
	if !needsMemberContainer(env) {
		drop(pod, member)
		unmount(pod, "config", "client-tls")
		configFromMap(pod)
		return nil
	}
	if cluster.Size > 1 {
		s.Spec.MinReadySeconds = reconnecting
	}
	c := component.Container(pod, member)
	c.Args = append(c.Args, "--size="+strconv.Itoa(cluster.Size))
	if fromSnapshot(env) {
		c.Args = append(c.Args, "--from-snapshot")
	}
	if id := env.HCP.Status.EtcdRestore; id != "" && !restores(env) {
		c.Args = append(c.Args, "--restore-id="+id) // a member that was late has older data
	}
	return nil
}

// schedule selects the nodes of the members. The node selector of the cluster, which is added later, wins.
func schedule(pod *corev1.PodSpec, on hyperv1.EtcdSchedulingSpec) {
	if len(on.NodeSelector) > 0 && pod.NodeSelector == nil {
		pod.NodeSelector = map[string]string{}
	}
	for key, value := range on.NodeSelector {
		pod.NodeSelector[key] = string(value)
	}
	pod.Tolerations = append(pod.Tolerations, on.Tolerations...)
}

// restoreFrom makes every member unpack the same snapshot as a member of the same cluster. Otherwise each would be a
// cluster of one.
func restoreFrom(pod *corev1.PodSpec, hcp *hyperv1.HostedControlPlane, cluster etcd.Cluster) {
	largest := etcdvolume.LargestSnapshot(etcdvolume.Size(&hcp.Spec.Etcd))
	f := component.Container(pod, fetch)
	f.Args = append(f.Args, "--max-bytes="+strconv.FormatInt(largest, 10))
	if hcp.Status.EtcdRestore != "" {
		readRequest(pod)
	} else {
		f.Args = append(f.Args, "--url="+string(hcp.Spec.Etcd.Managed.Storage.RestoreSnapshotURL[0]))
	}
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "snapshot" })
	pod.Volumes[i].EmptyDir.SizeLimit = resource.NewQuantity(largest+unpackerSize, resource.BinarySI)
	r := component.Container(pod, restore)
	r.Args = append(r.Args,
		"--initial-cluster="+cluster.Initial(),
		"--initial-advertise-peer-urls="+cluster.PeerURL("$(POD_NAME)"),
	)
}

// readRequest makes the containers read the restore of a backup from its Secret, which the pods wait for.
func readRequest(pod *corev1.PodSpec) {
	const volume = "request"
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: etcdbackup.RestoreSecret}}})
	f := component.Container(pod, fetch)
	f.Args = append(f.Args, "--request="+etcd.RequestFile, "--name=$(POD_NAME)")
	f.Env = append(f.Env, corev1.EnvVar{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}})
	f.VolumeMounts = append(f.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: path.Dir(etcd.RequestFile), ReadOnly: true})
	r := component.Container(pod, restore)
	r.Args = slices.Insert(r.Args, 0, "--restore-file="+etcd.RestoreFile)
	m := component.Container(pod, member)
	m.Args = append(m.Args, "--restore-file="+etcd.RestoreFile)
	m.VolumeMounts = append(m.VolumeMounts, corev1.VolumeMount{Name: "snapshot", MountPath: path.Dir(etcd.RestoreFile), ReadOnly: true})
}

func drop(pod *corev1.PodSpec, containers ...string) {
	pod.InitContainers = slices.DeleteFunc(pod.InitContainers, func(c corev1.Container) bool { return slices.Contains(containers, c.Name) })
}

func unmount(pod *corev1.PodSpec, volumes ...string) {
	pod.Volumes = slices.DeleteFunc(pod.Volumes, func(v corev1.Volume) bool { return slices.Contains(volumes, v.Name) })
}

// configFromMap mounts the configuration in the ConfigMap for etcd.
func configFromMap(pod *corev1.PodSpec) {
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "common" })
	pod.Volumes[i].Name = "config"
}
