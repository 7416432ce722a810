package machine

import "context"

const containerdSocket = "/run/containerd/containerd.sock"

func (a *agent) startContainerd(ctx context.Context) error {
	data := struct {
		Spec
		Socket                          string
		Root, Certs, CNI, Plugins, Runc string
	}{
		Spec: a.Spec, Socket: containerdSocket,
		Root: a.path("containerd"), Certs: a.path("certs.d"), CNI: a.path("cni"), Plugins: a.program("cni"), Runc: a.program("runc"),
	}
	config := a.path("containerd.toml")
	if err := a.write(config, "containerd.toml", data); err != nil {
		return err
	}
	if err := a.write(a.path("certs.d", a.Registry, "hosts.toml"), "hosts.toml", data); err != nil {
		return err
	}
	a.keep(ctx, "containerd", "--config="+config, "--log-level=warn")
	return until(ctx, func() (bool, error) { return listening(containerdSocket) })
}
