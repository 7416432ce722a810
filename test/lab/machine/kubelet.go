package machine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
)

const (
	kubeletConfig = "kubelet.yaml"
	// kubeletKubeconfig is written by the kubelet when it has joined.
	kubeletKubeconfig = "kubelet.kubeconfig"
)

func (a *agent) startKubelet(ctx context.Context) error {
	data := struct{ Nameserver, Search string }{cmp.Or(a.DNS, a.Gateway), a.Search}
	if err := a.write(a.path("resolv.conf"), "resolv.conf", data); err != nil {
		return err
	}
	if err := a.configureKubelet(); err != nil {
		return err
	}
	a.keep(ctx, "kubelet", a.kubeletArgs()...)
	return nil
}

func (a *agent) configureKubelet() error {
	return a.write(a.path(kubeletConfig), "kubelet.yaml", struct {
		Spec
		Address, Socket, CA, Resolv, PodLogs string
		Taints                               []taint
	}{
		Spec: a.Spec, Address: a.host(), Socket: containerdSocket,
		CA: a.path(CA), Resolv: a.path("resolv.conf"), PodLogs: a.path("pod-logs"), Taints: taints(a.Taints),
	})
}

func (a *agent) kubeletArgs() []string {
	args := []string{
		"--config=" + a.path(kubeletConfig),
		"--bootstrap-kubeconfig=" + a.path(BootstrapKubeconfig),
		"--kubeconfig=" + a.path(kubeletKubeconfig),
		"--cert-dir=" + a.path("kubelet-pki"),
		"--hostname-override=" + a.Name,
		"--node-ip=" + a.host(),
		"--v=2",
	}
	if len(a.Labels) > 0 {
		args = append(args, "--node-labels="+list(a.Labels))
	}
	if a.ExternalCloud {
		args = append(args, "--cloud-provider=external")
	}
	return args
}

// host is the address without its prefix.
func (a *agent) host() string {
	address, _, _ := strings.Cut(a.Address, "/")
	return address
}

func list(labels map[string]string) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, key+"="+labels[key])
	}
	return strings.Join(all, ",")
}

type taint struct{ Key, Value, Effect string }

// taints parses KEY=VALUE:EFFECT and KEY:EFFECT, like kubectl.
func taints(texts []string) []taint {
	var all []taint
	for _, text := range texts {
		keyValue, effect, _ := strings.Cut(text, ":")
		key, value, _ := strings.Cut(keyValue, "=")
		all = append(all, taint{key, value, effect})
	}
	return all
}
