package kubeapiserver

import (
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/etcd"
	"github.com/hosted-control-planes/hypershift/internal/component"
)

// addAddresses says where it is found, and what it hands out.
func addAddresses(env *component.Env, p *pod) error {
	n := env.HCP.Spec.Networking
	var services []string
	for _, entry := range n.ServiceNetwork {
		services = append(services, entry.CIDR)
	}
	p.arg("--advertise-address="+n.AdvertiseAddress(), "--service-cluster-ip-range="+strings.Join(services, ","))
	if c := configuration(env).Network; c != nil && c.ServiceNodePortRange != "" {
		p.arg("--service-node-port-range=" + c.ServiceNodePortRange)
	}
	if env.HighlyAvailable() {
		// A connection stays with the server that it was made to: now and then
		// one is asked to come back, which is when others get their share.
		p.arg("--goaway-chance=0.001")
	}
	return nil
}

// addIdentity says who issues the tokens of service accounts. The documents of
// the issuer are published elsewhere, under its URL.
func addIdentity(env *component.Env, p *pod) error {
	issuer := env.HCP.Spec.IssuerURL
	p.arg("--service-account-issuer="+issuer, "--service-account-jwks-uri="+strings.TrimSuffix(issuer, "/")+"/openid/v1/jwks", "--api-audiences="+issuer)
	return nil
}

// Keys of the Secret by which a user's own etcd is reached.
const (
	etcdCertKey = "etcd-client.crt"
	etcdKeyKey  = "etcd-client.key"
	etcdCAKey   = "etcd-client-ca.crt"
)

// waitForEtcd is the init container of the asset.
const waitForEtcd = "wait-for-etcd"

// addEtcd says where the state is kept. A single address is known from the start
// and tried for twenty seconds: by then an etcd that starts at the same time is
// there, and most of the start of an API server is over.
func addEtcd(env *component.Env, p *pod) error {
	servers := etcd.Of(env.HCP).Endpoints()
	if unmanaged := env.HCP.Spec.Etcd.Unmanaged; unmanaged != nil {
		servers = []string{unmanaged.Endpoint}
		p.volume("etcd").Secret = asTLS(unmanaged.TLS.ClientSecret.Name, etcdCertKey, etcdKeyKey, etcdCAKey)
	}
	p.arg("--etcd-servers=" + strings.Join(servers, ","))
	if len(servers) == 1 {
		p.InitContainers = slices.DeleteFunc(p.InitContainers, func(c corev1.Container) bool { return c.Name == waitForEtcd })
		return nil
	}
	wait := component.Container(p.PodSpec, waitForEtcd)
	wait.Args = append(wait.Args, "--url=tcp://"+etcd.Of(env.HCP).ServiceAddress())
	return nil
}

// addFeatures turns features of Kubernetes on and off.
func addFeatures(env *component.Env, p *pod) error {
	gates, err := component.FeatureGates(env)
	p.arg(gates...)
	return err
}

// configuration is what the user has configured, empty if nothing.
func configuration(env *component.Env) hyperv1.ClusterConfiguration {
	if c := env.HCP.Spec.Configuration; c != nil {
		return *c
	}
	return hyperv1.ClusterConfiguration{}
}

// apiServer is what the user has configured of the API server itself.
func apiServer(env *component.Env) configv1.APIServerSpec {
	if c := configuration(env).APIServer; c != nil {
		return *c
	}
	return configv1.APIServerSpec{}
}
