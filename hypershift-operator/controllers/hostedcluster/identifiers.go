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
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// ensureIdentifiers sets clusterID and infraID once, if the user did not. Both
// follow from the UID: who dies before the answer sets the same again.
func (r *Reconciler) ensureIdentifiers(ctx context.Context, s *scope) error {
	set := map[string]string{}
	if s.hc.Spec.ClusterID == "" {
		set["clusterID"] = string(s.hc.UID)
	}
	if s.hc.Spec.InfraID == "" {
		set["infraID"] = infraID(s.hc)
	}
	if len(set) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": s.hc.ResourceVersion},
		"spec":     set,
	})
	if err != nil {
		return err
	}
	answer := s.hc.DeepCopy()
	if err := r.Client.Patch(ctx, answer, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("setting clusterID and infraID: %w", err)
	}
	s.hc.Spec.ClusterID, s.hc.Spec.InfraID = answer.Spec.ClusterID, answer.Spec.InfraID
	s.hc.ResourceVersion, s.hc.Generation = answer.ResourceVersion, answer.Generation
	return nil
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
