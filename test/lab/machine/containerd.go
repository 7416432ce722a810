package machine

import "context"

const containerdSocket = "/run/containerd/containerd.sock"

func (a *agent) startContainerd(ctx context.Context) error {
	config := a.path("containerd.toml")
	if err := a.configureContainerd(config, a.path("containerd"), a.path("certs.d"), a.path("cni")); err != nil {
		return err
	}
	a.keep(ctx, "containerd", "--config="+config, "--log-level=warn")
	return until(ctx, func() (bool, error) { return listening(containerdSocket) })
}

// configureContainerd writes its configuration, with the registry of the lab.
func (a *agent) configureContainerd(file, root, certs, cni string) error {
	data := struct {
		Spec
		Socket                          string
		Root, Certs, CNI, Plugins, Runc string
	}{
		Spec: a.Spec, Socket: containerdSocket,
		Root: root, Certs: certs, CNI: cni, Plugins: a.program("cni"), Runc: a.program("runc"),
	}
	if err := a.write(file, "containerd.toml", data); err != nil {
		return err
	}
	return a.write(certs+"/"+a.Registry+"/hosts.toml", "hosts.toml", data)
}
