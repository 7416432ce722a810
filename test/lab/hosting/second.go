package hosting

import (
	"context"
	"maps"

	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
)

// Second starts the second management cluster of the lab, unless it runs, and installs hypershift there. Both installations have the
// same values: the bucket of OIDC documents, so that a hosted cluster keeps its issuer when it moves, and the role in AWS. Only their external-dns are
// different owners of records. Stop of the result removes only this cluster.
func (h *Hosting) Second(ctx context.Context, machines int) (*Hosting, error) {
	if h.Partial {
		if err := h.Complete(ctx); err != nil {
			return nil, err
		}
	}
	lab, err := h.Lab.Second(ctx, cluster.SecondOptions{Machines: machines, Progress: h.options.Progress})
	if err != nil {
		return nil, err
	}
	h.releasing.Lock()
	defer h.releasing.Unlock()
	second := &Hosting{
		Lab: lab, Versions: h.Versions, Programs: h.Programs, Images: h.Images, releases: maps.Clone(h.releases),
		options: h.options, root: h.root, role: h.role, dnsRole: h.dnsRole,
	}
	return second, second.Install(ctx)
}
