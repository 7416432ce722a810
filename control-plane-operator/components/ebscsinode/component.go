// Package ebscsinode runs the AWS EBS CSI driver on the nodes of a hosted cluster, where it formats and mounts volumes. It
// registers the driver and a default StorageClass. Package ebscsicontroller runs the controller next to the control plane,
// with a role in AWS. The pods on nodes have no role.
package ebscsinode

import (
	"embed"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the driver on nodes.
var Component = component.Component[*target.HostedCluster]{
	Name:   "aws-ebs-csi-driver-node",
	Assets: assets,
	Wanted: wanted,
	Adapters: []component.Adapter[*target.HostedCluster]{
		component.On("daemonset.yaml", func(t *target.HostedCluster, ds *appsv1.DaemonSet) error { return t.ConnectToAPI(&ds.Spec.Template) }),
	},
}

// wanted is false without a role for the controller: the volumes of the StorageClass would never be created.
func wanted(t *target.HostedCluster) bool {
	aws := t.HCP.Spec.Platform.AWS
	return aws != nil && aws.RolesRef.StorageARN != "" && t.Has(names.EBSCSIDriverImage) && t.Has(names.CSINodeRegistrarImage) && t.Has(names.CSILivenessProbeImage)
}
