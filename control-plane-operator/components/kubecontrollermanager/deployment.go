package kubecontrollermanager

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/podnetwork"
	"github.com/hosted-control-planes/hypershift/internal/signingkeys"
)

func adaptDeployment(env *target.ControlPlane, d *appsv1.Deployment) error {
	if *d.Spec.Replicas == 1 {
		// No leader is elected, so that two pods must not run side by side during a rollout, however long the new one takes to become ready.
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	c := component.Container(&d.Spec.Template.Spec, names.KubeControllerManager)
	c.Args = append(c.Args, target.LeaderElection(*d.Spec.Replicas)...)
	// A stolen node identity expires, even if the theft is never detected.
	c.Args = append(c.Args, "--cluster-signing-duration="+names.NodeCertificateLife.String())
	nodeRanges, err := nodeRangeArgs(env)
	if err != nil {
		return err
	}
	gates, err := target.FeatureGates(env)
	if err != nil {
		return err
	}
	c.Args = slices.Concat(c.Args, nodeRanges, gates)
	if !env.ExpectsNodes {
		i := slices.IndexFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "--controllers=") })
		c.Args[i] += ",-" + strings.Join(forNodes, ",-")
	}
	showSigningKey(env, d)
	return nil
}

// forNodes are the controllers that have nothing to do without nodes, by names that all supported versions know: the program exits for
// an unknown one. Each costs memory and timers. Two are not among them: the garbage collector of pods, which deletes the pods of nodes
// that are gone, and the HorizontalPodAutoscaler, which also scales resources that have no pods.
var forNodes = []string{
	"ephemeral-volume-controller",
	"node-ipam-controller",
	"node-lifecycle-controller",
	"persistentvolume-attach-detach-controller",
	"persistentvolume-expander-controller",
	"resourceclaim-controller",
	"taint-eviction-controller",
	"ttl-controller",
}

// SigningKeyAnnotation is on the pods: the ID of the key with which they sign tokens of service accounts.
const SigningKeyAnnotation = "hypershift.openshift.io/service-account-signing-key"

// showSigningKey shows which pods have started with a new key. The hypershift-operator reports a key that cannot be read.
func showSigningKey(env *target.ControlPlane, d *appsv1.Deployment) {
	secret := env.Secrets[names.ServiceAccountSigningKey]
	if secret == nil {
		return
	}
	if key, err := signingkeys.NewKey(secret.Data[names.ServiceAccountPrivateKeyFile]); err == nil {
		metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, SigningKeyAnnotation, key.ID)
	}
}

// nodeRangeArgs makes kube-controller-manager allocate a range of pod addresses for each node, if the network plugin
// expects it.
func nodeRangeArgs(env *target.ControlPlane) ([]string, error) {
	n := env.HCP.Spec.Networking
	allocate, err := allocates(env)
	if err != nil {
		return nil, err
	}
	if !allocate {
		return []string{"--allocate-node-cidrs=false"}, nil
	}
	var pods, services, sizes []string
	for _, entry := range n.ClusterNetwork {
		prefix, err := netip.ParsePrefix(entry.CIDR)
		if err != nil {
			return nil, fmt.Errorf("spec.networking.clusterNetwork has %q, which is not a CIDR: %w", entry.CIDR, err)
		}
		pods = append(pods, entry.CIDR)
		if entry.HostPrefix != 0 {
			sizes = append(sizes, fmt.Sprintf("--node-cidr-mask-size-ipv%d=%d", family(prefix), entry.HostPrefix))
		}
	}
	for _, entry := range n.ServiceNetwork {
		services = append(services, entry.CIDR)
	}
	args := []string{
		"--allocate-node-cidrs=true",
		"--cluster-cidr=" + strings.Join(pods, ","),
		"--service-cluster-ip-range=" + strings.Join(services, ","),
	}
	return append(args, sizes...), nil
}

// allocates reports whether nodes get ranges. The release's pod network needs them, and a user-managed pod network may need
// them as well, unless the ranges cannot be divided.
func allocates(env *target.ControlPlane) (bool, error) {
	n := env.HCP.Spec.Networking
	if !n.UsesPodNetworkOfRelease() {
		return n.AllocatesNodeRanges(), nil
	}
	if !env.Has(podnetwork.Image) {
		return false, nil
	}
	_, err := podnetwork.RangesOf(n)
	if err != nil && podnetwork.Unmanaged(env.HCP) {
		return false, nil
	}
	return err == nil, err
}

func family(p netip.Prefix) int {
	if p.Addr().Is4() {
		return 4
	}
	return 6
}
