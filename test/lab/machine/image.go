package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Paths of the machine image, and paths at which the user data of node pools puts files for components of the image.
const (
	imageCNI         = "/etc/cni/net.d"
	imageIPAM        = "/var/lib/cni/networks"
	imageUnits       = "/opt/systemd/system"
	joinedKubeconfig = "/var/lib/kubelet/kubeconfig"
)

// installImage puts the content of the image into a new machine: containerd and a kubelet, with the part of their
// configuration that is not up to a node pool.
func (a *agent) installImage() error {
	err := a.configureContainerd("/etc/containerd/config.toml", "/var/lib/containerd", "/etc/containerd/certs.d", imageCNI)
	if err != nil {
		return err
	}
	for _, dir := range []string{imageCNI, "/etc/kubernetes/manifests"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("installing the image: %w", err)
		}
	}
	data := struct{ Containerd, Kubelet, Path, Nameserver, Search string }{
		a.program("containerd"), a.program("kubelet"), filepath.Join(a.Lab, "bin"), a.DNS, a.Search,
	}
	for _, f := range []struct{ path, template string }{
		{"/etc/resolv.conf", "resolv.conf"},
		{imageUnits + "/containerd.service", "containerd.service"},
		{imageUnits + "/kubelet.service", "kubelet.service"},
		{"/opt/bin/kubelet", "kubelet.sh"},
		{"/opt/bin/systemctl", "systemctl.sh"},
		{"/opt/kubelet.conf.d/10-image.conf", "kubelet-image.yaml"},
	} {
		if err := a.write(f.path, f.template, data); err != nil {
			return err
		}
	}
	return errors.Join(os.Chmod("/opt/bin/kubelet", 0o755), os.Chmod("/opt/bin/systemctl", 0o755))
}
