package hostedcluster

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// claim puts our finalizer on the cluster and sets clusterID and infraID once, if
// the user did not. Both follow from the UID: who dies before the answer sets the
// same again.
func (r *Reconciler) claim(ctx context.Context, s *scope) error {
	set := map[string]string{}
	if s.hc.Spec.ClusterID == "" {
		set["clusterID"] = string(s.hc.UID)
	}
	if s.hc.Spec.InfraID == "" {
		set["infraID"] = r.infraIDFor(s.hc)
	}
	claimed := s.hc.DeepCopy()
	if !controllerutil.AddFinalizer(claimed, hyperv1.HostedClusterFinalizer) && len(set) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": s.hc.ResourceVersion, "finalizers": claimed.Finalizers},
		"spec":     set,
	})
	if err != nil {
		return err
	}
	if err := r.Client.Patch(ctx, claimed, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("setting finalizer, clusterID and infraID: %w", err)
	}
	s.hc.Finalizers = claimed.Finalizers
	s.hc.Spec.ClusterID, s.hc.Spec.InfraID = claimed.Spec.ClusterID, claimed.Spec.InfraID
	s.hc.ResourceVersion, s.hc.Generation = claimed.ResourceVersion, claimed.Generation
	return nil
}

// infraIDFor is the infraID that a cluster has or will get. It is empty if the
// user has to choose: documents that we publish are at <issuer>/<infraID>, and
// neither of the two can be changed afterwards.
func (r *Reconciler) infraIDFor(hc *hyperv1.HostedCluster) string {
	switch at := placeOf(hc.Spec.IssuerURL); {
	case hc.Spec.InfraID != "":
		return hc.Spec.InfraID
	case awsOf(hc) == nil, hc.Spec.ServiceAccountSigningKey != nil:
		return infraID(hc)
	case r.Documents != nil && at.in(r.Documents.Name(), r.Documents.Region()) && len(validation.IsDNS1123Subdomain(at.prefix)) == 0:
		return at.prefix
	}
	return ""
}

// checkInfraID refuses a cluster whose infraID nobody knows, before one is set.
func (r *Reconciler) checkInfraID(hc *hyperv1.HostedCluster) []problem {
	switch {
	case awsOf(hc) == nil || r.infraIDFor(hc) != "":
		return nil
	case r.Documents == nil:
		return []problem{problemf(hyperv1.InvalidConfigurationReason,
			"spec.infraID is not set, and this installation has no bucket for OIDC documents whose URL could say it: set spec.infraID to what spec.issuerURL ends in")}
	}
	return []problem{problemf(hyperv1.InvalidConfigurationReason,
		"spec.infraID is not set, and spec.issuerURL %q does not say it: create the cluster with spec.issuerURL %s", hc.Spec.IssuerURL, r.issuerFor("<infraID>"))}
}

// maxInfraName leaves room for the suffixes of names in AWS: the shortest limit
// there is 32 characters, of a load balancer.
const maxInfraName = 21

// infraID is the name, shortened, and five characters of the UID's hash. That
// no other cluster has it is checked by checkConfiguration in the next pass.
func infraID(hc *hyperv1.HostedCluster) string {
	name := strings.ReplaceAll(hc.Name, ".", "-")
	name = strings.TrimRight(name[:min(len(name), maxInfraName)], "-")
	sum := sha256.Sum256([]byte(hc.UID))
	// Six digits with a 1 in front: the five behind it may begin with zeros.
	const first = 36 * 36 * 36 * 36 * 36
	return name + "-" + strconv.FormatUint(first+binary.BigEndian.Uint64(sum[:])%first, 36)[1:]
}
