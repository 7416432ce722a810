package cloudcontrollermanager

import (
	"embed"
	"errors"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/controlchars"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the cloud-controller-manager.
var Component = component.Component[*target.ControlPlane]{
	Name:   names.CloudControllerManager,
	Assets: assets,
	In:     names.KubeControllerManager,
	Wanted: func(env *target.ControlPlane) bool { return Wanted(env.HCP, env.ExpectsNodes) },
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("deployment.yaml", adaptDeployment),
		component.On("config.yaml", adaptConfig),
	},
	// The token minter reads the key for each token.
	Reloads: []string{"Secret/" + names.ServiceAccountSigningKey},
}

// Wanted reports whether a cluster needs the cloud-controller-manager. A cluster that neither expects nodes nor had any does not.
func Wanted(hcp *hyperv1.HostedControlPlane, expectsNodes bool) bool {
	return hcp.Spec.Platform.AWS != nil && expectsNodes
}

func adaptDeployment(env *target.ControlPlane, d *appsv1.Deployment) error {
	pod := &d.Spec.Template.Spec
	c := component.Container(pod, names.CloudControllerManager)
	c.Args = append(c.Args, target.LeaderElection(*d.Spec.Replicas)...)
	region, role := env.HCP.Spec.Platform.AWS.Region, string(env.HCP.Spec.Platform.AWS.RolesRef.KubeCloudControllerARN)
	c.Env = slices.Concat(c.Env, component.AWSIdentity(region, role), env.Egress)
	minter := component.Container(pod, "token-minter")
	minter.Args = append(minter.Args, "--issuer="+env.HCP.Spec.IssuerURL, "--subject="+names.CloudControllerSubject, "--role-arn="+role, "--region="+region)
	minter.Env = append(minter.Env, env.Egress...)
	target.TrustUser(env, pod)
	return nil
}

// adaptConfig configures the location of the nodes. Otherwise the cloud-controller-manager would read the metadata of
// its own machine, which is in another account.
func adaptConfig(env *target.ControlPlane, cm *corev1.ConfigMap) error {
	aws := env.HCP.Spec.Platform.AWS
	lines := []string{"[Global]", "Region = " + aws.Region, "KubernetesClusterID = " + env.HCP.Spec.InfraID}
	if c := aws.CloudProviderConfig; c != nil {
		lines = append(lines, "VPC = "+c.VPC)
		if c.Zone != "" {
			lines = append(lines, "Zone = "+c.Zone)
		}
		if c.Subnet != nil && c.Subnet.ID != nil {
			lines = append(lines, "SubnetID = "+*c.Subnet.ID)
		}
	}
	for _, s := range healthProbes {
		if value := env.HCP.Annotations[s.annotation]; value != "" {
			lines = append(lines, s.key+" = "+value)
		}
	}
	for _, line := range lines {
		if controlchars.In(line) {
			return errors.New("writing cloud.conf: platform.aws has a line break or another control character in region, vpc, zone or subnet.id, or an annotation about health probes has one: remove it")
		}
	}
	cm.Data = map[string]string{"cloud.conf": strings.Join(lines, "\n") + "\n"}
	return nil
}

// healthProbes are the settings of cloud.conf about the health checks of load balancers.
var healthProbes = []struct{ annotation, key string }{
	{hyperv1.AWSLoadBalancerHealthProbeModeAnnotation, "ClusterServiceLoadBalancerHealthProbeMode"},
	{hyperv1.SharedLoadBalancerHealthProbePathAnnotation, "ClusterServiceSharedLoadBalancerHealthProbePath"},
	{hyperv1.SharedLoadBalancerHealthProbePortAnnotation, "ClusterServiceSharedLoadBalancerHealthProbePort"},
}
