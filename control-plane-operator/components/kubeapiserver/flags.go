package kubeapiserver

import (
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// addAddresses sets the API server's address and the service network.
func addAddresses(env *target.ControlPlane, p *pod) error {
	n := env.HCP.Spec.Networking
	var services []string
	for _, entry := range n.ServiceNetwork {
		services = append(services, entry.CIDR)
	}
	p.arg("--advertise-address="+n.AdvertiseAddress(), "--service-cluster-ip-range="+strings.Join(services, ","))
	if c := configuration(env).Network; c != nil && c.ServiceNodePortRange != "" {
		p.arg("--service-node-port-range=" + c.ServiceNodePortRange)
	}
	if env.HighlyAvailable() && env.HCP.Annotations[hyperv1.KubeAPIServerGoAwayChanceAnnotation] == "" {
		// Clients keep a connection to one server. The API server closes a few of them, so that the load is balanced
		// over time.
		p.arg("--goaway-chance=0.001")
	}
	return nil
}

// addIdentity sets the issuer of service account tokens. The documents of the issuer are published under its URL by
// another component.
func addIdentity(env *target.ControlPlane, p *pod) error {
	issuer := env.HCP.Spec.IssuerURL
	p.arg("--service-account-issuer="+issuer, "--service-account-jwks-uri="+strings.TrimSuffix(issuer, "/")+"/openid/v1/jwks", "--api-audiences="+issuer)
	return nil
}

// Keys of the Secret with the client certificate for an unmanaged etcd.
const (
	etcdCertKey = "etcd-client.crt"
	etcdKeyKey  = "etcd-client.key"
	etcdCAKey   = "etcd-client-ca.crt"
)

// Init containers of the asset.
const (
	pullImage   = "pull-image"
	waitForEtcd = "wait-for-etcd"
)

// addEtcd sets the addresses of etcd, and waits for an etcd that starts at the same time. An unmanaged etcd exists already: the API
// server reports why it cannot connect to it. Its init container only copies the log relay.
func addEtcd(env *target.ControlPlane, p *pod) error {
	if unmanaged := env.HCP.Spec.Etcd.Unmanaged; unmanaged != nil {
		p.volume("etcd").Secret = asTLS(unmanaged.TLS.ClientSecret.Name, etcdCertKey, etcdKeyKey, etcdCAKey)
		p.arg("--etcd-servers=" + unmanaged.Endpoint)
		p.InitContainers = slices.DeleteFunc(p.InitContainers, func(c corev1.Container) bool { return c.Name == pullImage })
		return nil
	}
	p.arg("--etcd-servers=" + strings.Join(etcd.Of(env.HCP).Endpoints(), ","))
	wait := component.Container(p.PodSpec, waitForEtcd)
	wait.Args = append(wait.Args, "--url=tcp://"+etcd.Of(env.HCP).ServiceAddress())
	return nil
}

// addFeatures sets the feature gates, and serves the APIs of the feature set.
func addFeatures(env *target.ControlPlane, p *pod) error {
	gates, err := target.FeatureGates(env)
	p.arg(gates...)
	p.arg(target.PreviewAPIs(env)...)
	return err
}

// settings are flags that the user sets with annotations. The hypershift-operator has checked their values.
var settings = []struct{ annotation, flag string }{
	{hyperv1.KubeAPIServerGoAwayChanceAnnotation, "--goaway-chance"},
	{hyperv1.KubeAPIServerMaxRequestsInFlightAnnotation, "--max-requests-inflight"},
	{hyperv1.KubeAPIServerMaxMutatingRequestsInFlightAnnotation, "--max-mutating-requests-inflight"},
	{hyperv1.KubeAPIServerServiceAccountTokenMaxExpirationAnnotation, "--service-account-max-token-expiration"},
	{hyperv1.KubeAPIServerVerbosityLevelAnnotation, "--v"},
}

// variables are settings of the Go runtime that the user sets with annotations.
var variables = []struct{ annotation, name string }{
	{hyperv1.KubeAPIServerGOGCAnnotation, "GOGC"},
	{hyperv1.KubeAPIServerGOMemLimitAnnotation, "GOMEMLIMIT"},
}

// addSettings replaces the flags and variables of the asset.
func addSettings(env *target.ControlPlane, p *pod) error {
	c := p.server()
	for _, s := range settings {
		if value := env.HCP.Annotations[s.annotation]; value != "" {
			c.Args = slices.DeleteFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, s.flag+"=") })
			c.Args = append(c.Args, s.flag+"="+value)
		}
	}
	for _, v := range variables {
		if value := env.HCP.Annotations[v.annotation]; value != "" {
			c.Env = slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == v.name })
			c.Env = append(c.Env, corev1.EnvVar{Name: v.name, Value: value})
		}
	}
	return nil
}

// configuration returns the user's configuration, which may be empty.
func configuration(env *target.ControlPlane) hyperv1.ClusterConfiguration {
	if c := env.HCP.Spec.Configuration; c != nil {
		return *c
	}
	return hyperv1.ClusterConfiguration{}
}

// apiServer returns the user's configuration of the API server, which may be empty.
func apiServer(env *target.ControlPlane) configv1.APIServerSpec {
	if c := configuration(env).APIServer; c != nil {
		return *c
	}
	return configv1.APIServerSpec{}
}
