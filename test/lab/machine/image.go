package machine

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/hosted-control-planes/hypershift/test/lab/publicca"
)

// Paths of the machine image.
const (
	imageCNI   = "/etc/cni/net.d"
	imageUnits = "/usr/lib/systemd/system"
)

// certs is where containerd finds the address of the registry of the lab.
const certs = "/etc/containerd/certs.d"

// imageFiles are the files of every image, by their template. The drop-ins and the settings of containerd and of the kubelet are for
// programs that share the kernel with the host. An image of a user would have such files for its hardware.
var imageFiles = map[string]string{
	"/etc/hostname":                                  "hostname",
	"/etc/hosts":                                     "hosts",
	resolvConf:                                       "resolv.conf",
	"/opt/kubelet.conf.d/10-image.conf":              "kubelet-image.yaml",
	certs + "/{{.Registry}}/hosts.toml":              "hosts.toml",
	"/etc/containerd/conf.d/10-lab.toml":             "containerd-image.toml",
	imageUnits + "/containerd.service.d/10-lab.conf": "containerd.conf",
	imageUnits + "/kubelet.service.d/10-lab.conf":    "kubelet.conf",
}

// authorities is where programs of Debian look for certificate authorities.
const authorities = "/etc/ssl/certs/ca-certificates.crt"

// trustPublicNames adds the authority of the public names of AWS, as a machine image has the authorities of the web.
func trustPublicNames(file string) error {
	ca, err := publicca.OfMachine()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(ca.File)
	if err != nil {
		return fmt.Errorf("installing the image: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("installing the image: %w", err)
	}
	existing, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("installing the image: %w", err)
	}
	if err := os.WriteFile(file, append(existing, text...), 0o644); err != nil {
		return fmt.Errorf("installing the image: %w", err)
	}
	return nil
}

// resolvConf is where programs read the name servers.
const resolvConf = "/etc/resolv.conf"

// resolvedFiles are the files of an image with systemd-resolved. Netplan makes the first one of the network card and DHCP. The lab
// configures the network card before the boot, so systemd-networkd only adds the DNS server and the domain.
var resolvedFiles = map[string]string{"/etc/systemd/network/10-netplan-eth0.network": "eth0.network"}

// stub is the file that names the stub of systemd-resolved.
const stub = "../run/systemd/resolve/stub-resolv.conf"

// kubeletFiles are the files of an image with the programs of a node.
var kubeletFiles = map[string]string{
	imageUnits + "/containerd.service": "containerd.service",
	imageUnits + "/kubelet.service":    "kubelet.service",
}

// installImage adds to the root file system the additions of a machine image to Debian.
func (a *agent) installImage(root string) error {
	in := func(path string) string { return filepath.Join(root, path) }
	for _, dir := range []string{imageCNI, "/etc/kubernetes/manifests"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			return fmt.Errorf("installing the image: %w", err)
		}
	}
	data := struct{ Logs, Hostname, Nameserver, Search, Registry string }{
		a.path("logs"), a.hostname(), a.DNS, a.Search, a.Registry,
	}
	files := maps.Clone(imageFiles)
	if a.Instance.Kubelet {
		err := a.configureContainerd(containerd{
			Root: "/var/lib/containerd", Certs: certs, CNI: imageCNI, Plugins: a.program("cni"), Runc: a.program("runc"), Systemd: true,
		}, in("/etc/containerd/config.toml"), in(certs))
		if err != nil {
			return err
		}
		maps.Copy(files, kubeletFiles)
		for _, program := range []string{"kubelet", "containerd", "containerd-shim-runc-v2", "ctr", "runc"} {
			if err := os.Symlink(a.program(program), in("/usr/local/bin/"+program)); err != nil {
				return fmt.Errorf("installing the image: %w", err)
			}
		}
	}
	if err := trustPublicNames(in(authorities)); err != nil {
		return err
	}
	if a.Instance.Resolved {
		delete(files, resolvConf)
		maps.Copy(files, resolvedFiles)
		if err := os.Symlink(stub, in(resolvConf)); err != nil {
			return fmt.Errorf("installing the image: %w", err)
		}
	}
	for path, template := range files {
		path = strings.ReplaceAll(path, "{{.Registry}}", a.Registry)
		if err := a.write(in(path), template, data); err != nil {
			return err
		}
		// Temporary files, which write renames, are readable by their owner only.
		if err := os.Chmod(in(path), 0o644); err != nil {
			return fmt.Errorf("installing the image: %w", err)
		}
	}
	return nil
}
