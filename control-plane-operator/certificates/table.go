package certificates

import (
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// A table lists the authorities, bundles, certificates and kubeconfigs. Certificates and kubeconfigs depend on the
// control plane and on the known hosts.
type table struct {
	signers     []signer
	bundles     []bundle
	leaves      func(*hyperv1.HostedControlPlane, Facts) []leaf
	kubeconfigs func(*hyperv1.HostedControlPlane, Facts) []kubeconfig
}

// fullTable is the table of a control plane.
var fullTable = table{signers: signers, bundles: bundles, leaves: leaves, kubeconfigs: kubeconfigs}

// A signer is a certificate authority in the Secret of the same name.
type signer struct {
	name string
	// lives is the validity of the certificates that others sign with its key.
	lives time.Duration
}

const (
	// nodeCertificates is the time for which a rotation keeps the old authority of the nodes. kube-controller-manager
	// issues node certificates for 30 days, and may use the old key for some time.
	nodeCertificates = names.NodeCertificateLife + 24*time.Hour
	// legacyNodeCertificateRetention is the validity that they had before it was limited.
	legacyNodeCertificateRetention = 366 * 24 * time.Hour
)

var signers = []signer{
	{name: names.RootCA},
	{name: names.ClusterSignerCA, lives: nodeCertificates},
	{name: names.ClientSigner},
	{name: names.EtcdSigner},
	{name: names.KonnectivitySigner},
	{name: names.AggregatorClientSigner},
	{name: names.KubeletClientSigner},
	{name: names.CustomerBreakGlassSigner, lives: names.BreakGlassCertificateLife},
}

// A bundle is a ConfigMap with the trusted certificates of some signers.
type bundle struct {
	name string
	of   []string
}

var bundles = []bundle{
	{names.RootCA, []string{names.RootCA}},
	// The cluster's signer signs the client certificates of kubelets, too.
	{names.ClientCA, []string{names.ClientSigner, names.ClusterSignerCA, names.CustomerBreakGlassSigner}},
	// Only the serving certificates of kubelets.
	{names.KubeletServingCA, []string{names.ClusterSignerCA}},
	// Nodes trust this bundle. Clients of other authorities have no access to kubelets.
	{names.KubeletClientCA, []string{names.KubeletClientSigner}},
}
