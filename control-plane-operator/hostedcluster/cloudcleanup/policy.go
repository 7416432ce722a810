package cloudcleanup

import (
	"context"
	"embed"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/control-plane-operator/hostedcluster/objects"
)

//go:embed assets/cleanup.yaml
var files embed.FS

// policy prevents the creation of load balancers, volumes and snapshots during their removal. The API server itself enforces the
// policy: a webhook would need a server.
var policy = objects.Set{
	Name:  "cleanup",
	Kinds: []client.ObjectList{&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}},
	Desired: func(context.Context, *objects.Builder) ([]client.Object, error) {
		return objects.Read(files, "cleanup.yaml")
	},
}

// policyDelay is the time until API servers enforce a new policy.
const policyDelay = 3 * time.Second

// BlockCreation reconciles the policy. No step waits until API servers enforce it: the caller searches again after the returned
// time.
func BlockCreation(ctx context.Context, b *objects.Builder) (requeueAfter time.Duration, err error) {
	if err := b.Ensure(ctx, policy); err != nil {
		return 0, err
	}
	return max(0, policyDelay-b.Clock.Since(objects.AppliedAt(b.Cluster, policy))), nil
}
