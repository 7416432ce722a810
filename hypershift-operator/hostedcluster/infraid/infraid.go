package infraid

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// Issuers know the URLs under which this installation publishes OIDC documents.
type Issuers interface {
	// InfraIDFor returns the infraID that the URL contains, "" for the URL of
	// another bucket.
	InfraIDFor(issuerURL string) string
	// URLFor returns the URL for an infraID, "" for an installation without a bucket.
	URLFor(infraID string) string
}

// For returns the infraID that a cluster has or will get, and "" if the user has to
// choose one, because issuerURL does not contain it.
func For(hc *hyperv1.HostedCluster, issuers Issuers) string {
	switch {
	case hc.Spec.InfraID != "":
		return hc.Spec.InfraID
	case !onAWS(hc), hc.Spec.ServiceAccountSigningKey != nil:
		return generate(hc)
	}
	return issuers.InfraIDFor(hc.Spec.IssuerURL)
}

// Validate rejects a cluster without a known infraID, before one is set.
func Validate(hc *hyperv1.HostedCluster, issuers Issuers) field.ErrorList {
	if !onAWS(hc) {
		return nil
	}
	return validation.InfraID(For(hc, issuers), hc.Spec.IssuerURL, issuers.URLFor("<infraID>"))
}

func onAWS(hc *hyperv1.HostedCluster) bool {
	return hc.Spec.Platform.Type == hyperv1.AWSPlatform && hc.Spec.Platform.AWS != nil
}

// maxName leaves room for the suffixes of names in AWS, of which load balancer names have the lowest limit: 32 characters.
const maxName = 21

// generate returns the shortened name and five characters of the UID's hash. The
// next reconcile checks that no other cluster has it.
func generate(hc *hyperv1.HostedCluster) string {
	name := strings.ReplaceAll(hc.Name, ".", "-")
	name = strings.TrimRight(name[:min(len(name), maxName)], "-")
	sum := sha256.Sum256([]byte(hc.UID))
	// Six digits that begin with 1, so that the five others may begin with zeros.
	const first = 36 * 36 * 36 * 36 * 36
	return name + "-" + strconv.FormatUint(first+binary.BigEndian.Uint64(sum[:])%first, 36)[1:]
}
