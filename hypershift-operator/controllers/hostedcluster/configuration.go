package hostedcluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/index"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/validation"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// checkConfiguration blocks on everything that cannot work, with what to change.
func (r *Reconciler) checkConfiguration(ctx context.Context, s *scope) error {
	if text := s.hc.Unreadable(); text != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "the object has values that cannot be read; write these fields again: %s", text)
	}
	errs := append(validation.HostedCluster(s.hc), r.checkInfraID(s.hc)...)
	errs = append(errs, r.checkLimits(s)...)
	if s.hcp != nil {
		errs = append(errs, validation.EncryptionUpdate(s.hc.Spec.SecretEncryption, s.hcp.Spec.SecretEncryption)...)
	}
	keys, err := s.objects.CheckEncryptionKeys(ctx, s.hc)
	if err != nil {
		return err
	}
	rejected, tolerated, err := s.objects.CheckActiveContents(ctx, s.hc)
	if err != nil {
		return err
	}
	s.tolerated = append(s.tolerated, tolerated...)
	conflicts, err := r.conflicts(ctx, s)
	if err != nil {
		return err
	}
	errs = append(errs, keys...)
	errs = append(errs, rejected...)
	errs = append(errs, conflicts...)
	if len(errs) == 0 {
		return nil
	}
	return reconcile.Block(validation.Reason(errs), "%s", validation.Message(errs))
}

// Indexes find clusters that use the same values.
const (
	infraIDIndex         = "spec.infraID"
	controlPlaneIndex    = "controlPlaneNamespace"
	hostnameIndex        = "hostname"
	publishedSecretIndex = "publishedSecret"
)

// conflicts lists what older clusters have taken already.
func (r *Reconciler) conflicts(ctx context.Context, s *scope) (field.ErrorList, error) {
	var errs field.ErrorList
	if id := r.infraIDFor(s.hc); id != "" {
		other, err := r.olderWith(ctx, s.hc, infraIDIndex, id)
		if err != nil {
			return nil, err
		}
		if other != nil {
			errs = append(errs, validation.Errorf(hyperv1.InfraIDInUseReason, field.NewPath("spec", "infraID"), id,
				"infraID %s belongs to HostedCluster %s: create this cluster again with another infraID, or without", id, clusterKey(other)))
		}
		released, err := r.checkReleased(ctx, s, id)
		if err != nil {
			return nil, err
		}
		errs = append(errs, released...)
	}
	other, err := r.olderWith(ctx, s.hc, controlPlaneIndex, s.plane.Name)
	if err != nil {
		return nil, err
	}
	if other != nil {
		errs = append(errs, validation.Errorf(hyperv1.NamespaceInUseReason, field.NewPath("metadata", "name"), s.hc.Name,
			"namespace %s is for the control plane of HostedCluster %s: choose another name or namespace for this cluster", s.plane.Name, clusterKey(other)))
	}
	secrets, err := r.publishedSecretConflicts(ctx, s)
	if err != nil {
		return nil, err
	}
	errs = append(errs, secrets...)
	for _, host := range byHostname(s.hc) {
		other, err := r.olderWith(ctx, s.hc, hostnameIndex, host)
		if err != nil {
			return nil, err
		}
		if other != nil {
			errs = append(errs, validation.Errorf(hyperv1.UnsupportedPublishingReason, field.NewPath("spec", "services"), host,
				"spec.services uses host name %s, which belongs to HostedCluster %s: choose another", host, clusterKey(other)))
		}
	}
	return errs, nil
}

// olderWith returns a cluster that was there before hc and has the same value.
func (r *Reconciler) olderWith(ctx context.Context, hc *hyperv1.HostedCluster, by, value string) (*hyperv1.HostedCluster, error) {
	var list hyperv1.HostedClusterList
	if err := r.Client.List(ctx, &list, client.MatchingFields{by: value}); err != nil {
		return nil, fmt.Errorf("listing HostedClusters by %s: %w", by, err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; other.UID != hc.UID && index.Older(other, hc) {
			return other, nil
		}
	}
	return nil, nil
}
