package hostedcluster

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/infraid"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/isolation"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/limits"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/operator/index"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

// checkConfiguration blocks on everything that cannot work, and names the change that helps.
func (r *Reconciler) checkConfiguration(ctx context.Context, s *scope) error {
	if text := s.hc.Unreadable(); text != "" {
		return reconcile.Block(hyperv1.UnreadableReason, "the object has values that cannot be read; write these fields again: %s", text)
	}
	errs := append(validation.HostedCluster(s.hc), infraid.Validate(s.hc, r.oidc)...)
	errs = append(errs, checkLimits(s, r.Limits)...)
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

// checkLimits rejects settings that would let one tenant displace others: a priority class
// that the installer does not allow, too large a memory factor, or a request above the largest container. A class that the control plane
// already uses stays in use, and is reported.
func checkLimits(s *scope, l limits.Limits) field.ErrorList {
	factor := s.hc.Annotations[hyperv1.MemoryLimitFactorAnnotation]
	_, err := l.Factor(factor)
	errs := validation.MemoryLimitFactor(factor, err)
	errs = append(errs, validation.LargestRequest(s.hc.Annotations, l.Container.Max)...)
	allowed := append(component.PriorityClasses(), l.PriorityClasses...)
	for _, annotation := range component.PriorityAnnotations() {
		class := s.hc.Annotations[annotation]
		rejected := validation.PriorityClass(annotation, class, allowed)
		if s.hcp != nil && s.hcp.Annotations[annotation] == class {
			s.tolerated = append(s.tolerated, rejected...)
			continue
		}
		errs = append(errs, rejected...)
	}
	return errs
}

// Indexes find clusters that use the same values.
const (
	infraIDIndex      = "spec.infraID"
	controlPlaneIndex = "controlPlaneNamespace"
	hostnameIndex     = "hostname"
)

// conflicts lists identifiers and names that older clusters already use.
func (r *Reconciler) conflicts(ctx context.Context, s *scope) (field.ErrorList, error) {
	var errs field.ErrorList
	if id := infraid.For(s.hc, r.oidc); id != "" {
		other, err := olderWith(ctx, r.Client, s.hc, infraIDIndex, id)
		if err != nil {
			return nil, err
		}
		if other != nil {
			errs = append(errs, validation.Errorf(hyperv1.InfraIDInUseReason, field.NewPath("spec", "infraID"), id,
				"infraID %s belongs to HostedCluster %s: create this cluster again with another infraID, or without", id, client.ObjectKeyFromObject(other)))
		}
		if s.namespace == nil && s.hc.Status.OIDCDocuments == nil { // else the cluster uses it already
			reserved, err := r.infraIDs.Check(ctx, s.hc, id)
			if err != nil {
				return nil, err
			}
			errs = append(errs, reserved...)
		}
	}
	other, err := olderWith(ctx, r.Client, s.hc, controlPlaneIndex, s.plane.Name)
	if err != nil {
		return nil, err
	}
	if other != nil {
		errs = append(errs, validation.Errorf(hyperv1.NamespaceInUseReason, field.NewPath("metadata", "name"), s.hc.Name,
			"namespace %s is for the control plane of HostedCluster %s: choose another name or namespace for this cluster", s.plane.Name, client.ObjectKeyFromObject(other)))
	}
	secrets, err := r.users.Conflicts(ctx, s.hc)
	if err != nil {
		return nil, err
	}
	if s.hcp != nil { // a control plane that exists runs without the Secret
		s.tolerated = append(s.tolerated, secrets...)
	} else {
		errs = append(errs, secrets...)
	}
	for _, host := range isolation.Hostnames(s.hc, r.ServesRoutes) {
		other, err := olderWith(ctx, r.Client, s.hc, hostnameIndex, host)
		if err != nil {
			return nil, err
		}
		if other != nil {
			errs = append(errs, validation.Errorf(hyperv1.UnsupportedPublishingReason, field.NewPath("spec", "services"), host,
				"spec.services uses host name %s, which belongs to HostedCluster %s: choose another", host, client.ObjectKeyFromObject(other)))
		}
	}
	return errs, nil
}

// olderWith returns a cluster that existed before hc and has the same value.
func olderWith(ctx context.Context, clusters client.Reader, hc *hyperv1.HostedCluster, by, value string) (*hyperv1.HostedCluster, error) {
	var list hyperv1.HostedClusterList
	if err := clusters.List(ctx, &list, client.MatchingFields{by: value}); err != nil {
		return nil, fmt.Errorf("listing HostedClusters by %s: %w", by, err)
	}
	for i := range list.Items {
		if other := &list.Items[i]; other.UID != hc.UID && index.Older(other, hc) {
			return other, nil
		}
	}
	return nil, nil
}

// checkSupport blocks clusters that this installation cannot run.
func (r *Reconciler) checkSupport(ctx context.Context, s *scope) error {
	if s.aws() != nil && r.MissingCRDs != "" {
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"the management cluster does not have %s: apply the files of config/crd/external, and restart the hypershift-operator", r.MissingCRDs)
	}
	if !s.hc.Spec.Platform.PrivateLink() {
		return nil
	}
	switch region := s.aws().Region; r.PrivateRegion {
	case region:
		return r.findSharedRouter(ctx, s)
	case "":
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"endpointAccess %s needs an installation that can make endpoint services: start the hypershift-operator with --private-platform=AWS and credentials for AWS, or use endpointAccess Public", s.aws().EndpointAccess)
	default:
		return reconcile.Block(hyperv1.UnsupportedClusterReason,
			"endpointAccess %s needs the cluster to be in region %s, where this installation makes endpoint services, and it is in %s: create the cluster there, or use endpointAccess Public", s.aws().EndpointAccess, r.PrivateRegion, region)
	}
}
