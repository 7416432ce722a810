// Package components lists the components that the control-plane-operator runs. Each component is a folder with assets and
// adapters. A new component is a folder and a line in this file.
package components

import (
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/cloudcontrollermanager"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/coredns"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/ebscsicontroller"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/ebscsinode"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/flannel"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/imageregistry"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/imageregistrynode"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/karpenter"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/konnectivityagent"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubecontrollermanager"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeproxy"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubescheduler"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/metricsserver"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/podidentitywebhook"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/router"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/traefik"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// ControlPlane lists the components in the namespace of the control plane. A cluster runs the components that its spec needs
// and its release has images for.
var ControlPlane = []component.Component[*target.ControlPlane]{
	cloudcontrollermanager.Component,
	ebscsicontroller.Component,
	etcd.Component,
	karpenter.Component,
	kubeapiserver.Component,
	kubecontrollermanager.Component,
	kubescheduler.Component,
	podidentitywebhook.Component,
	router.Component,
}

// HostedCluster lists the components inside the hosted cluster. A cluster runs the components that its release has images for.
var HostedCluster = []component.Component[*target.HostedCluster]{
	coredns.Component,
	kubeproxy.Component,
	konnectivityagent.Component,
	metricsserver.Component,
	traefik.Component,
	imageregistry.Component,
	imageregistrynode.Component,
	ebscsinode.Component,
}

// PodNetwork is the pod network of a release, inside the hosted cluster. It is not in HostedCluster, because it stays when a
// release does not have it.
var PodNetwork = flannel.Component
