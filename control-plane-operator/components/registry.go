// Package components lists the components of a hosted control plane. Each component is a folder with assets and
// adapters. A new component is a folder and a line in this file.
package components

import (
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/cloudcontrollermanager"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubecontrollermanager"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubescheduler"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/router"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// All lists all components. A cluster has the ones that its spec needs and its release has images for.
var All = []component.Component{
	cloudcontrollermanager.Component,
	etcd.Component,
	kubeapiserver.Component,
	kubecontrollermanager.Component,
	kubescheduler.Component,
	router.Component,
}
