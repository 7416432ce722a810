package certificates

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// rest says that a pass found nothing to do, and that another one finds the same
// until the time comes or something changes: to judge every certificate takes
// some milliseconds, and passes have many reasons.
type rest struct {
	digest [sha256.Size]byte
	until  time.Time
}

// digestOf is of all that a pass looks at, but for whether a rotation is rolled
// out: while there is one there is no rest.
func digestOf(hcp *hyperv1.HostedControlPlane, facts Facts, there found) ([sha256.Size]byte, error) {
	text, err := json.Marshal([]any{hcp.UID, hcp.Annotations, hcp.Spec, facts.API, facts.Konnectivity, facts.KubeadminPassword, there.versions})
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("marshalling what certificates depend on: %w", err)
	}
	return sha256.Sum256(text), nil
}

// atRest says whether nothing has happened since a pass found nothing to do.
func (c *Certificates) atRest(digest [sha256.Size]byte, now time.Time) *rest {
	if r := c.rest.Load(); r != nil && r.digest == digest && now.Before(r.until) {
		return r
	}
	return nil
}
