// Package components lists the components of a hosted control plane. Each is a
// folder with assets and adapters; a new one is a folder and a line here.
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

// All are the components that there are. Which of them a cluster has depends on
// what it is like and on the images of its release.
var All = []component.Component{
	cloudcontrollermanager.Component,
	etcd.Component,
	kubeapiserver.Component,
	kubecontrollermanager.Component,
	kubescheduler.Component,
	router.Component,
}
