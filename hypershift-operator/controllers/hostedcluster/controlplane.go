package hostedcluster

import (
	"context"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterapi"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/clusterrelease"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/controlplane"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/etcdrestores"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/hostedcluster/userobjects"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/routes"
)

// checkRelease checks the releases before the control plane gets them.
func (r *Reconciler) checkRelease(ctx context.Context, s *scope) (err error) {
	s.releases, err = r.releases.Check(ctx, s.releaseCluster())
	return err
}

// ensureControlPlane applies the spec to the HostedControlPlane.
func (r *Reconciler) ensureControlPlane(ctx context.Context, s *scope) error {
	if s.releases.Images.Release == "" {
		return clusterrelease.ErrNoRelease()
	}
	changed, err := r.apply.Apply(ctx, s.plane.Set("control-plane", &hyperv1.HostedControlPlaneList{}), r.desiredControlPlane(s))
	s.specApplied = err == nil && !changed
	return err
}

// desiredControlPlane returns the HostedControlPlane without the fields that only
// this operator uses.
func (r *Reconciler) desiredControlPlane(s *scope) *hyperv1.HostedControlPlane {
	spec := userobjects.WithCopies(s.hc)
	autoNode, removed := s.autoNode()
	hcp := &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.plane.Name, Name: s.hc.Name, Annotations: s.plane.Annotations(), OwnerReferences: clusterapi.Owner(s.cluster)},
		Spec: hyperv1.HostedControlPlaneSpec{
			ReleaseImage:                     s.releases.Images.Release,
			PullSecret:                       spec.PullSecret,
			Channel:                          spec.Channel,
			UpdateService:                    spec.UpdateService,
			SSHKey:                           spec.SSHKey,
			IssuerURL:                        spec.IssuerURL,
			ServiceAccountSigningKey:         spec.ServiceAccountSigningKey,
			InfraID:                          spec.InfraID,
			ClusterID:                        spec.ClusterID,
			Platform:                         spec.Platform,
			DNS:                              spec.DNS,
			Networking:                       spec.Networking,
			Services:                         s.services(r.ServesRoutes),
			ControllerAvailabilityPolicy:     spec.ControllerAvailabilityPolicy,
			InfrastructureAvailabilityPolicy: spec.InfrastructureAvailabilityPolicy,
			Etcd:                             spec.Etcd,
			SecretEncryption:                 spec.SecretEncryption,
			Configuration:                    spec.Configuration,
			OperatorConfiguration:            spec.OperatorConfiguration,
			AuditWebhook:                     spec.AuditWebhook,
			AdditionalTrustBundle:            spec.AdditionalTrustBundle,
			Autoscaling:                      spec.Autoscaling,
			ImageContentSources:              spec.ImageContentSources,
			Capabilities:                     spec.Capabilities,
			OLMCatalogPlacement:              spec.OLMCatalogPlacement,
			FIPS:                             spec.FIPS,
			KubeAPIServerDNSName:             spec.KubeAPIServerDNSName,
			NodeSelector:                     spec.NodeSelector,
			Tolerations:                      spec.Tolerations,
			Labels:                           spec.Labels,
			PausedUntil:                      ptr.To(notPaused),
			AutoNode:                         autoNode,
			Monitoring:                       spec.Monitoring,
		},
	}
	if image := s.releases.Images.ControlPlane; image != "" {
		hcp.Spec.ControlPlaneReleaseImage = &image
	}
	maps.Copy(hcp.Annotations, controlplane.PropagatedAnnotations(s.hc.Annotations))
	r.Sizes.Annotate(hcp.Annotations, s.hcp)
	if s.autoscales() {
		hcp.Annotations[hyperv1.ClusterAutoscalerAnnotation] = "true"
	}
	if phase := s.sleep.Phase; phase != hyperv1.SleepPhaseAwake {
		hcp.Annotations[hyperv1.SleepPhaseAnnotation] = string(phase)
	}
	if uid := etcdrestores.Wanted(s.restore, s.hcp); uid != "" {
		hcp.Annotations[hyperv1.EtcdRestoreAnnotation] = uid
	}
	if s.sharedRouter.Missing() == "" {
		hcp.Annotations[hyperv1.SharedRouterPublicHostAnnotation] = s.sharedRouter.Public
		hcp.Annotations[hyperv1.SharedRouterPrivateHostAnnotation] = s.sharedRouter.Private
	}
	if removed {
		hcp.Annotations[hyperv1.AutoNodeRemovedAnnotation] = "true"
	}
	maps.Copy(hcp.Annotations, s.releases.Digests(s.hcp))
	delete(hcp.Annotations, hyperv1.MemoryLimitFactorAnnotation)
	delete(hcp.Annotations, hyperv1.MemoryLimitMaxAnnotation)
	if !s.memoryMax.IsZero() {
		hcp.Annotations[hyperv1.MemoryLimitMaxAnnotation] = s.memoryMax.String()
	}
	if s.memoryFactor > 0 {
		hcp.Annotations[hyperv1.MemoryLimitFactorAnnotation] = strconv.FormatInt(s.memoryFactor, 10)
	}
	if date := s.restartDate(); date != "" {
		hcp.Annotations[hyperv1.RestartDateAnnotation] = date
	}
	if aws := hcp.Spec.Platform.AWS; aws != nil {
		aws.ResourceTags = withClusterTag(aws.ResourceTags, spec.InfraID)
	}
	return hcp
}

// services returns the services of the cluster with the host names of Routes. Nodes may still use a host name after the
// access mode has changed to one without it.
func (s *scope) services(servesRoutes bool) []hyperv1.ServicePublishingStrategyMapping {
	services := routes.WithHosts(s.hc.Name, &s.hc.Spec, servesRoutes)
	if s.hcp != nil {
		routes.Keep(services, s.hcp.Spec.Services)
	}
	return services
}

// withClusterTag adds the tag that identifies the resources of the cluster. The
// user's spec is not changed.
func withClusterTag(tags []hyperv1.AWSResourceTag, infraID string) []hyperv1.AWSResourceTag {
	key := names.ClusterTag(infraID)
	tags = slices.DeleteFunc(tags, func(t hyperv1.AWSResourceTag) bool { return t.Key == key })
	return append(tags, hyperv1.AWSResourceTag{Key: key, Value: names.ClusterTagValue})
}
