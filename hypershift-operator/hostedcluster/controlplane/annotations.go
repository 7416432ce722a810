package controlplane

import (
	"maps"
	"slices"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// PropagatedAnnotations returns those annotations of a HostedCluster that its control plane
// acts on. Its HostedControlPlane has them too.
func PropagatedAnnotations(annotations map[string]string) map[string]string {
	all := maps.Clone(annotations)
	maps.DeleteFunc(all, func(key, _ string) bool {
		return !strings.HasPrefix(key, hyperv1.ResourceRequestOverrideAnnotationPrefix+"/") && !slices.Contains(propagated, key)
	})
	return all
}

var propagated = []string{
	hyperv1.TargetNodeLabelsAnnotation,
	hyperv1.LoadBalancerSubnetsAnnotation,
	hyperv1.SharedRouterAnnotation,
	hyperv1.CleanupCloudResourcesAnnotation,
	hyperv1.SleepLoadBalancersAnnotation,
	hyperv1.SleepEtcdAnnotation,
	hyperv1.MovedFromAnnotation,
	hyperv1.PreviousEndpointsAnnotation,
	hyperv1.PrivateRecordTTLAnnotation,
	hyperv1.HandedOverAnnotation,
	hyperv1.DisablePKIReconciliationAnnotation,
	hyperv1.RotateCertificatesAnnotation,
	hyperv1.CertificateValidityAnnotation,
	hyperv1.CertificateRenewalAnnotation,
	hyperv1.RotationPauseAnnotation,
	hyperv1.PodNetworkAnnotation,
	hyperv1.OIDCProvidersInClusterNetworkAnnotation,
	hyperv1.WebhooksInClusterNetworkAnnotation,
	hyperv1.ControlPlanePriorityClassAnnotation,
	hyperv1.APICriticalPriorityClassAnnotation,
	hyperv1.EtcdPriorityClassAnnotation,
	hyperv1.MemoryLimitFactorAnnotation,
	hyperv1.KubeAPIServerGOGCAnnotation,
	hyperv1.KubeAPIServerGOMemLimitAnnotation,
	hyperv1.KubeAPIServerGoAwayChanceAnnotation,
	hyperv1.KubeAPIServerMaxRequestsInFlightAnnotation,
	hyperv1.KubeAPIServerMaxMutatingRequestsInFlightAnnotation,
	hyperv1.KubeAPIServerServiceAccountTokenMaxExpirationAnnotation,
	hyperv1.KubeAPIServerVerbosityLevelAnnotation,
	hyperv1.AWSLoadBalancerHealthProbeModeAnnotation,
	hyperv1.SharedLoadBalancerHealthProbePathAnnotation,
	hyperv1.SharedLoadBalancerHealthProbePortAnnotation,
}
