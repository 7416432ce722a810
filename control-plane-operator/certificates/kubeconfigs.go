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
	// host is the API server's host for the user of the kubeconfig. It is empty as long as it is unknown.
	host string
	port int32
	// outside is true when the user may see a certificate that the cluster's owner brought.
	outside bool
	labels  map[string]string
	pki.Request
}

// apiPort is the port of the API server's Service.
const apiPort = 6443

// kubeconfigs returns the kubeconfigs of a control plane. None of their users is in system:masters, because that group
// can be revoked only with a new authority. RBAC in the hosted cluster grants the permissions to the users' groups.
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
		{secret: names.ControlPlaneOperatorKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.ControlPlaneOperatorUser, Groups: []string{names.ControlPlaneOperatorGroup}, Usage: pki.Client}},
		{
			secret: names.ClusterKubeconfig(hcp.Spec.InfraID), key: names.ClusterKubeconfigFile, host: inside, port: apiPort,
			labels:  map[string]string{names.ClusterNameLabel: hcp.Spec.InfraID},
			Request: pki.Request{User: names.ClusterAPIUser, Groups: []string{names.ClusterAPIGroup}, Usage: pki.Client},
		},
	}
	if facts.Scheduler {
		all = append(all, kubeconfig{secret: names.SchedulerKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.SchedulerUser, Usage: pki.Client}})
	}
	if facts.CloudController {
		all = append(all, kubeconfig{secret: names.CloudControllerKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.CloudControllerUser, Usage: pki.Client}})
	}
	if facts.PodIdentityWebhook {
		all = append(all, kubeconfig{secret: names.PodIdentityWebhookKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.PodIdentityWebhookUser, Usage: pki.Client}})
	}
	if facts.EBSCSIController {
		all = append(all, kubeconfig{secret: names.EBSCSIControllerKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.EBSCSIControllerUser, Usage: pki.Client}})
	}
	if hcp.Annotations[hyperv1.ClusterAutoscalerAnnotation] == "true" {
		all = append(all, kubeconfig{secret: names.ClusterAutoscalerKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.ClusterAutoscalerUser, Usage: pki.Client}})
	}
	if hcp.Spec.AutoNode.Karpenter() != nil {
		all = append(all, kubeconfig{secret: names.KarpenterKubeconfig, host: inside, port: apiPort, Request: pki.Request{User: names.KarpenterUser, Usage: pki.Client}})
	}
	for i := range all {
		if all[i].key == "" {
			all[i].key = names.AdminKubeconfigFile
		}
		if all[i].outside {
			all[i].labels = published()
		}
	}
	return all
}

// published returns the labels of a Secret for users.
func published() map[string]string { return map[string]string{names.PublishedLabel: names.Published} }

func (k kubeconfig) server() string {
	return "https://" + net.JoinHostPort(k.host, strconv.Itoa(int(k.port)))
}
