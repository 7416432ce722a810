package certificates

import (
	"net"
	"strconv"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// A kubeconfig is one line of the table.
type kubeconfig struct {
	secret, key string
	// host is where its owner finds the API server; empty if that is not known yet.
	host string
	port int32
	// outside says that its owner may meet a certificate that the user brought.
	outside bool
	labels  map[string]string
	pki.Request
}

// apiPort is that of the Service of the API server.
const apiPort = 6443

// kubeconfigs are those of a control plane. None makes its owner a member of
// system:masters, whom nothing stops but another authority: what they may do is
// bound to their groups in the hosted cluster.
func kubeconfigs(hcp *hyperv1.HostedControlPlane, facts Facts) []kubeconfig {
	inside := names.KubeAPIServer + "." + hcp.Namespace + ".svc"
	admin := pki.Request{User: names.AdminUser, Groups: []string{names.AdminGroup}, Usage: pki.Client}
	custom := hcp.Spec.KubeAPIServerDNSName
	if facts.API.Name == "" {
		custom = "" // its port is not known either
	}
	all := []kubeconfig{
		{secret: names.AdminKubeconfig, host: facts.API.Name, port: facts.API.Port, outside: true, Request: admin},
		{secret: names.CustomAdminKubeconfig, host: custom, port: facts.API.Port, outside: true, Request: admin},
		{secret: names.ControllerManagerKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.ControllerManagerUser, Usage: pki.Client}},
		{secret: names.SchedulerKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.SchedulerUser, Usage: pki.Client}},
		{secret: names.ControlPlaneOperatorKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.ControlPlaneOperatorUser, Groups: []string{names.ControlPlaneOperatorGroup}, Usage: pki.Client}},
		{
			secret: names.ClusterKubeconfig(hcp.Spec.InfraID), key: names.ClusterKubeconfigFile, host: inside, port: apiPort,
			labels:  map[string]string{names.ClusterNameLabel: hcp.Spec.InfraID},
			Request: pki.Request{User: names.ClusterAPIUser, Groups: []string{names.ClusterAPIGroup}, Usage: pki.Client},
		},
	}
	if hcp.Spec.Platform.AWS != nil {
		all = append(all, kubeconfig{secret: names.CloudControllerKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.CloudControllerUser, Usage: pki.Client}})
	}
	for i := range all {
		if all[i].key == "" {
			all[i].key = names.AdminKubeconfigFile
		}
	}
	return all
}

func (k kubeconfig) server() string {
	return "https://" + net.JoinHostPort(k.host, strconv.Itoa(int(k.port)))
}
