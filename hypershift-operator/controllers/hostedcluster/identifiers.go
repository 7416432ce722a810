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
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/validation"
)

// claim adds the finalizer and sets clusterID and infraID once, if the user did
// not. Both follow from the UID, so that a repetition sets the same values.
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

// infraIDFor returns the infraID that a cluster has or will get, and "" if the
// user has to choose one, because issuerURL does not contain it.
func (r *Reconciler) infraIDFor(hc *hyperv1.HostedCluster) string {
	switch {
	case hc.Spec.InfraID != "":
		return hc.Spec.InfraID
	case awsOf(hc) == nil, hc.Spec.ServiceAccountSigningKey != nil:
		return infraID(hc)
	}
	return r.oidc.InfraIDFor(hc.Spec.IssuerURL)
}

// checkInfraID rejects a cluster without a known infraID, before one is set.
func (r *Reconciler) checkInfraID(hc *hyperv1.HostedCluster) field.ErrorList {
	if awsOf(hc) == nil {
		return nil
	}
	return validation.InfraID(r.infraIDFor(hc), hc.Spec.IssuerURL, r.oidc.URLFor("<infraID>"))
}

// maxInfraName leaves room for the suffixes of names in AWS, of which that of a
// load balancer has the lowest limit: 32 characters.
const maxInfraName = 21

// infraID returns the shortened name and five characters of the UID's hash. The
// next reconcile checks that no other cluster has it.
func infraID(hc *hyperv1.HostedCluster) string {
	name := strings.ReplaceAll(hc.Name, ".", "-")
	name = strings.TrimRight(name[:min(len(name), maxInfraName)], "-")
	sum := sha256.Sum256([]byte(hc.UID))
	// Six digits that begin with 1, so that the five others may begin with zeros.
	const first = 36 * 36 * 36 * 36 * 36
	return name + "-" + strconv.FormatUint(first+binary.BigEndian.Uint64(sum[:])%first, 36)[1:]
}
