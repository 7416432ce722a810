// Package components lists the components that the hypershift-operator runs for a control plane. Each component is a folder
// with assets and adapters. A new component is a folder and a line in this file.
package components

import (
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/capiprovider"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/clusterautoscaler"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/components/controlplaneoperator"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// ControlPlane lists the components of every control plane.
var ControlPlane = []component.Component[*controlplane.Target]{
	controlplaneoperator.Component,
}

// Machines lists the components of control planes with node pools on AWS.
var Machines = []component.Component[*controlplane.Target]{
	clusterapi.Component,
	capiprovider.Component,
}

// Autoscaler lists the components of control planes with node pools that have autoScaling, if the release has their images.
var Autoscaler = []component.Component[*controlplane.Target]{
	clusterautoscaler.Component,
}
