package machine

import (
	"context"

	"github.com/hosted-control-planes/hypershift/test/lab/storage"
)

// pluginRegistry is the directory in which the kubelet looks for drivers of volumes.
const pluginRegistry = "/var/lib/kubelet/plugins_registry"

func (a *agent) serveVolumes(ctx context.Context) error {
	if a.Disks == "" {
		return nil
	}
	return storage.Node{Name: a.Name, Disks: a.Disks, Registry: pluginRegistry, Log: a.log}.Serve(ctx)
}
