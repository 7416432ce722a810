package controlplane

import hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"

// PropagatedAnnotations are the annotations of a HostedCluster that its control plane
// acts on. Its HostedControlPlane has them too.
func PropagatedAnnotations() []string {
	return []string{
		hyperv1.TargetNodeLabelsAnnotation,
		hyperv1.LoadBalancerSubnetsAnnotation,
		hyperv1.CleanupCloudResourcesAnnotation,
		hyperv1.DisablePKIReconciliationAnnotation,
		hyperv1.RotateCertificatesAnnotation,
		hyperv1.CertificateValidityAnnotation,
		hyperv1.CertificateRenewalAnnotation,
		hyperv1.RotationPauseAnnotation,
		hyperv1.PodNetworkAnnotation,
		hyperv1.ControlPlanePriorityClassAnnotation,
		hyperv1.APICriticalPriorityClassAnnotation,
		hyperv1.EtcdPriorityClassAnnotation,
		hyperv1.MemoryLimitFactorAnnotation,
	}
}
