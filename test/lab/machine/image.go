package machine

import (
	"fmt"
	"os"
	"path/filepath"
)

// Paths of the machine image.
const (
	imageCNI   = "/etc/cni/net.d"
	imageUnits = "/usr/lib/systemd/system"
)

// installImage adds to the root file system what a machine image for nodes has: containerd and a kubelet, with the part of their
// configuration that is not up to a node pool. Paths in the files are those of the instance.
func (a *agent) installImage(root string) error {
	in := func(path string) string { return filepath.Join(root, path) }
	const certs = "/etc/containerd/certs.d"
	err := a.configureContainerd(containerd{
		Root: "/var/lib/containerd", Certs: certs, CNI: imageCNI, Plugins: a.program("cni"), Runc: a.program("runc"), Systemd: true,
	}, in("/etc/containerd/config.toml"), in(certs))
	if err != nil {
		return err
	}
	for _, dir := range []string{imageCNI, "/etc/kubernetes/manifests"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			return fmt.Errorf("installing the image: %w", err)
		}
	}
	data := struct{ Programs, Logs, Hostname, Nameserver, Search string }{
		insidePrograms, a.path("logs"), a.hostname(), a.DNS, a.Search,
	}
	for _, f := range []struct{ path, template string }{
		{"/etc/hostname", "hostname"},
		{"/etc/hosts", "hosts"},
		{"/etc/resolv.conf", "resolv.conf"},
		{imageUnits + "/containerd.service", "containerd.service"},
		{imageUnits + "/kubelet.service", "kubelet.service"},
		{"/opt/bin/kubelet", "kubelet.sh"},
		{"/opt/kubelet.conf.d/10-image.conf", "kubelet-image.yaml"},
	} {
		if err := a.write(in(f.path), f.template, data); err != nil {
			return err
		}
		// Temporary files, which write renames, are readable by their owner only.
		if err := os.Chmod(in(f.path), 0o644); err != nil { //nolint:gosec // every user of the machine may read them
			return fmt.Errorf("installing the image: %w", err)
		}
	}
	return os.Chmod(in("/opt/bin/kubelet"), 0o755) //nolint:gosec // it is a program
}
