package certificates

import (
	"time"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// nodeCertificates is how long the certificates of nodes live, which
// kube-controller-manager signs with the key of the cluster signer: as long as it
// does unless told otherwise. A rotation keeps the old authority until then.
const nodeCertificates = 365 * 24 * time.Hour

// signers are the authorities of a control plane, and how long the certificates
// live that others sign with their keys.
var signers = []struct {
	name  string
	lives time.Duration
}{
	{name: names.RootCA},
	{name: names.ClusterSignerCA, lives: nodeCertificates},
	{name: names.ClientSigner},
	{name: names.EtcdSigner},
	{name: names.KonnectivitySigner},
	{name: names.AggregatorClientSigner},
	{name: names.KubeletClientSigner},
}
