package certificates

import (
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A table says what there is. The certificates and kubeconfigs depend on the
// control plane and on the hosts that are known.
type table struct {
	signers     []signer
	bundles     []bundle
	leaves      func(*hyperv1.HostedControlPlane, Facts) []leaf
	kubeconfigs func(*hyperv1.HostedControlPlane, Facts) []kubeconfig
}

// whole is the table of a control plane.
var whole = table{signers: signers, bundles: bundles, leaves: leaves, kubeconfigs: kubeconfigs}

// A signer is an authority, in the Secret of its name.
type signer struct {
	name string
	// lives is how long the certificates live that others sign with its key.
	lives time.Duration
}

const (
	// nodeCertificates is for how long a rotation keeps the old authority of
	// nodes: kube-controller-manager makes out their certificates for 30 days, with
	// the key that it had a moment ago.
	nodeCertificates = names.NodeCertificateLife + 24*time.Hour
	// nodeCertificatesBefore is how long they lived before that was limited.
	nodeCertificatesBefore = 366 * 24 * time.Hour
)

var signers = []signer{
	{name: names.RootCA},
	{name: names.ClusterSignerCA, lives: nodeCertificates},
	{name: names.ClientSigner},
	{name: names.EtcdSigner},
	{name: names.KonnectivitySigner},
	{name: names.AggregatorClientSigner},
	{name: names.KubeletClientSigner},
}

// A bundle is a ConfigMap with what is to be trusted of some signers.
type bundle struct {
	name string
	of   []string
}

var bundles = []bundle{
	{names.RootCA, []string{names.RootCA}},
	// What kubelets show to the API server is signed by the cluster's signer, too.
	{names.ClientCA, []string{names.ClientSigner, names.ClusterSignerCA}},
	// What kubelets serve with, and nothing else.
	{names.KubeletServingCA, []string{names.ClusterSignerCA}},
	// Nodes are told: whom else an authority vouches for has no business there.
	{names.KubeletClientCA, []string{names.KubeletClientSigner}},
}
