package machine

import "context"

func (a *agent) startKubeProxy(ctx context.Context) error {
	if !a.KubeProxy {
		return nil
	}
	config := a.path("kube-proxy.yaml")
	err := a.write(config, "kube-proxy.yaml", struct{ Name, Address, Kubeconfig string }{a.Name, a.host(), a.path(KubeProxyKubeconfig)})
	if err != nil {
		return err
	}
	a.keep(ctx, "kube-proxy", "--config="+config, "--v=2")
	return nil
}
