// Package kubescheduler runs the kube-scheduler of a hosted cluster.
package kubescheduler

import (
	"embed"

	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

//go:embed assets
var assets embed.FS

// Component is the kube-scheduler.
var Component = component.Component{
	Name:   names.KubeScheduler,
	Assets: assets,
	After:  []string{names.KubeAPIServer},
	Adapters: []component.Adapter{
		component.On("config.yaml", adaptConfig),
	},
	// It looks at its own certificate every minute.
	Reloads: []string{"Secret/scheduler-server-tls"},
}
