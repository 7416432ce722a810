package machine

import "context"

const containerdSocket = "/run/containerd/containerd.sock"

func (a *agent) startContainerd(ctx context.Context) error {
	config := a.path("containerd.toml")
	err := a.configureContainerd(containerd{
		Root: a.path("containerd"), Certs: a.path("certs.d"), CNI: a.path("cni"), Plugins: a.program("cni"), Runc: a.program("runc"),
	}, config, a.path("certs.d"))
	if err != nil {
		return err
	}
	a.keep(ctx, "containerd", "--config="+config, "--log-level=warn")
	return until(ctx, func() (bool, error) { return listening(containerdSocket) })
}

// containerd are the paths in its configuration. Systemd: it makes the cgroups of containers through systemd.
type containerd struct {
	Root, Certs, CNI, Plugins, Runc string
	Systemd                         bool
}

// configureContainerd writes its configuration to a file, and the address of the lab's registry to a directory.
func (a *agent) configureContainerd(c containerd, file, certs string) error {
	data := struct {
		Spec
		containerd
		Socket string
	}{Spec: a.Spec, containerd: c, Socket: containerdSocket}
	if err := a.write(file, "containerd.toml", data); err != nil {
		return err
	}
	return a.write(certs+"/"+a.Registry+"/hosts.toml", "hosts.toml", data)
}
