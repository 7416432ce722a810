// Package ebscsicontroller runs the controller of the AWS EBS CSI driver next to the control plane of a hosted cluster:
//
//	signing key ── token-minter ──► token ──► rolesRef.storageARN, a role of the customer's account
//	claims, volumes, attachments of the hosted cluster ◄─ sidecars ─► driver ─► EBS volumes there
//
// It runs in the pods of kube-controller-manager, from the first node pool on, and stays after the last node is gone, because only
// it can delete the remaining volumes. The sidecars renew Leases also with one replica: the clean-up at deletion reads there whether they run.
//
// Package ebscsinode runs the part on the nodes.
package ebscsicontroller

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the controller of the driver, with its sidecars.
var Component = component.Component[*target.ControlPlane]{
	Name:   names.EBSCSIController,
	Assets: assets,
	In:     names.KubeControllerManager,
	Wanted: func(env *target.ControlPlane) bool { return Wanted(env.HCP, env.ExpectsNodes) },
	Adapters: []component.Adapter[*target.ControlPlane]{
		component.On("deployment.yaml", adaptDeployment),
	},
	// The token minter reads the key for each token.
	Reloads: []string{"Secret/" + names.ServiceAccountSigningKey},
}

// Wanted reports whether a cluster needs the driver, provided that its release contains the images.
func Wanted(hcp *hyperv1.HostedControlPlane, expectsNodes bool) bool {
	aws := hcp.Spec.Platform.AWS
	return aws != nil && aws.RolesRef.StorageARN != "" && expectsNodes
}

// The names of containers in the asset.
const (
	driver      = "ebs-plugin"
	snapshotter = "csi-snapshotter"
)

func adaptDeployment(env *target.ControlPlane, d *appsv1.Deployment) error {
	pod, aws := &d.Spec.Template.Spec, env.HCP.Spec.Platform.AWS
	if !env.Has(names.CSISnapshotterImage) {
		pod.Containers = slices.DeleteFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == snapshotter })
	}
	for i := range pod.Containers {
		if c := &pod.Containers[i]; strings.HasPrefix(c.Name, "csi-") {
			c.Args = append(c.Args, leaderElection()...)
		}
	}
	c := component.Container(pod, driver)
	c.Args = append(c.Args, "--k8s-tag-cluster-id="+env.HCP.Spec.InfraID)
	if tags := extraTags(aws.ResourceTags); tags != "" {
		c.Args = append(c.Args, "--extra-tags="+tags)
	}
	c.Env = slices.Concat(c.Env, component.AWSIdentity(aws.Region, string(aws.RolesRef.StorageARN)), env.Egress)
	minter := component.Container(pod, "token-minter")
	minter.Args = append(minter.Args, "--issuer="+env.HCP.Spec.IssuerURL, "--subject="+names.StorageSubject,
		"--role-arn="+string(aws.RolesRef.StorageARN), "--region="+aws.Region)
	minter.Env = append(minter.Env, env.Egress...)
	target.TrustUser(env, pod)
	return nil
}

// leaderElection returns the flags of the sidecars. They would not start without a namespace for their Leases.
func leaderElection() []string {
	return []string{
		"--leader-election=true",
		"--leader-election-namespace=" + metav1.NamespaceSystem,
		fmt.Sprintf("--leader-election-lease-duration=%s", target.LeaseDuration),
		fmt.Sprintf("--leader-election-renew-deadline=%s", target.RenewDeadline),
		fmt.Sprintf("--leader-election-retry-period=%s", target.RetryPeriod),
	}
}

// extraTags returns the user's tags for volumes and snapshots. The driver does not start with tags in the name spaces of
// Kubernetes and AWS, and its flag cannot express values with a comma.
func extraTags(tags []hyperv1.AWSResourceTag) string {
	var pairs []string
	for _, tag := range tags {
		reserved := strings.HasPrefix(tag.Key, "kubernetes.io/") || strings.HasPrefix(tag.Key, "aws:")
		if !reserved && !strings.ContainsAny(tag.Key, ",=") && !strings.Contains(tag.Value, ",") {
			pairs = append(pairs, tag.Key+"="+tag.Value)
		}
	}
	return strings.Join(pairs, ",")
}
