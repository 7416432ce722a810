package v1beta1

import (
	"maps"
	"slices"
	"strings"
)

// annotationDomain is the domain of annotations that the operators read, together with its subdomains.
const annotationDomain = "hypershift.openshift.io"

// AnnotationsOfHostedClusters are those of a HostedCluster that are acted upon. Those with a prefix are not among them.
func AnnotationsOfHostedClusters() []string {
	return append(healthCheckAnnotations(),
		RestartDateAnnotation, PodNetworkAnnotation, DisableClusterAutoscalerAnnotation, OIDCProvidersInClusterNetworkAnnotation, WebhooksInClusterNetworkAnnotation, ControlPlaneOperatorImageAnnotation,
		KubeAPIServerGOGCAnnotation, KubeAPIServerGOMemLimitAnnotation, KubeAPIServerGoAwayChanceAnnotation, KubeAPIServerMaxRequestsInFlightAnnotation,
		KubeAPIServerMaxMutatingRequestsInFlightAnnotation, KubeAPIServerServiceAccountTokenMaxExpirationAnnotation, KubeAPIServerVerbosityLevelAnnotation,
		ControlPlanePriorityClassAnnotation, APICriticalPriorityClassAnnotation, EtcdPriorityClassAnnotation, MemoryLimitFactorAnnotation,
		DisablePKIReconciliationAnnotation, SigningKeyTypeAnnotation, RotateSigningKeyAnnotation, RetireSigningKeyAnnotation,
		SigningKeyPublicationAnnotation, SigningKeyMaxAgeAnnotation, RotateCertificatesAnnotation, RotationPauseAnnotation, CertificateValidityAnnotation, CertificateRenewalAnnotation,
		TargetNodeLabelsAnnotation, LoadBalancerSubnetsAnnotation, SharedRouterAnnotation, AWSLoadBalancerHealthProbeModeAnnotation, SharedLoadBalancerHealthProbePathAnnotation,
		SharedLoadBalancerHealthProbePortAnnotation, AWSMachinePublicIPsAnnotation,
		CleanupCloudResourcesAnnotation, DestroyGracePeriodAnnotation, GiveUpAfterAnnotation,
		SleepAnnotation, SleepScheduleAnnotation, SleepMachinesAnnotation, SleepLoadBalancersAnnotation, SleepEtcdAnnotation,
		MovedFromAnnotation, PreviousEndpointsAnnotation, PrivateRecordTTLAnnotation, HandedOverAnnotation,
		ForceUpgradeToAnnotation, SkipReleaseImageValidationAnnotation,
	)
}

// AnnotationsOfNodePools are those of a NodePool that are acted upon.
func AnnotationsOfNodePools() []string {
	return append(healthCheckAnnotations(), MetadataHopLimitAnnotation, UserDataFormatAnnotation)
}

// healthCheckAnnotations are read from NodePools and HostedClusters.
func healthCheckAnnotations() []string {
	return []string{MachineHealthCheckTimeoutAnnotation, MachineHealthCheckNodeStartupTimeoutAnnotation, MachineHealthCheckMaxUnhealthyAnnotation}
}

// InherentAnnotations returns annotations that users of OpenShift set, and that need no action here, with the reason. They are not
// reported.
func InherentAnnotations() map[string]string { return maps.Clone(inherentAnnotations) }

var inherentAnnotations = map[string]string{
	annotationDomain + "/disable-profiling":                    "the components of a control plane serve no profiles",
	annotationDomain + "/disable-ignition-server":              "there is no Ignition server; machines get their configuration in their user data",
	annotationDomain + "/disable-aws-node-termination-handler": "no termination handler is installed",
	annotationDomain + "/disable-monitoring-services":          "no ServiceMonitors are created in the namespaces of control planes",
	annotationDomain + "/ec2-instance-metadata-http-tokens":    "machines always require session tokens (IMDSv2)",
}

// UnsupportedAnnotations returns annotations that users of OpenShift set and that have no effect here, with what to do in place of
// them.
func UnsupportedAnnotations() map[string]string { return maps.Clone(unsupportedAnnotations) }

var unsupportedAnnotations = map[string]string{
	annotationDomain + "/image-overrides":                           imagesOfRelease,
	annotationDomain + "/capi-manager-image":                        imagesOfInstallation,
	annotationDomain + "/capi-provider-aws-image":                   imagesOfInstallation,
	annotationDomain + "/cluster-autoscaler-image":                  imagesOfRelease,
	annotationDomain + "/aws-kms-provider-image":                    imagesOfRelease,
	annotationDomain + "/konnectivity-server-image":                 imagesOfRelease,
	annotationDomain + "/konnectivity-agent-image":                  imagesOfRelease,
	annotationDomain + "/haproxy-image":                             imagesOfRelease,
	annotationDomain + "/control-plane-operator-image-labels":       "the labels of the image are not read",
	annotationDomain + "/topology":                                  dedicatedNodes,
	annotationDomain + "/request-serving-node-additional-selector":  dedicatedNodes,
	annotationDomain + "/cluster-size-override":                     sizes,
	annotationDomain + "/recommended-cluster-size":                  sizes,
	annotationDomain + "/resource-based-cp-auto-scaling":            sizes,
	annotationDomain + "/skip-delete-hosted-controlplane-namespace": "the namespace of a control plane holds its keys and is always deleted with it",
	annotationDomain + "/pod-security-admission-label-override":     "namespaces of control planes enforce the level restricted, which all their pods meet",
	annotationDomain + "/disable-machine-management":                "without NodePools no program manages machines; spec.pausedUntil of a NodePool stops changes of its machines",
	annotationDomain + "/aws-karpenter-default-instance-profile":    "Karpenter uses the instance profile of the workers, <infraID>-worker",
	annotationDomain + "/restored-from-backup":                      "a cluster is restored from spec.etcd.managed.storage.restoreSnapshotURL, without an annotation",
	annotationDomain + "/enable-metrics-forwarding":                 "metrics are not forwarded",
	annotationDomain + "/skip-kas-conflict-san-validation":          "host names that belong to another certificate of the control plane are always refused",
	annotationDomain + "/debug-deployments":                         "set spec.pausedUntil, and scale the Deployment by hand",
	annotationDomain + "/scope":                                     "one installation manages all HostedClusters",
	annotationDomain + "/silence-cluster-alerts":                    "silence alerts in Alertmanager by their namespace and name",
	annotationDomain + "/ingress-controller-load-balancer-scope":    ingress,
	annotationDomain + "/private-ingress-controller":                ingress,
	annotationDomain + "/enable-spot":                               "spot machines are set by spec.platform.aws.placement of the NodePool",
	annotationDomain + "/redhat-operators-catalog-image":            catalogs,
	annotationDomain + "/certified-operators-catalog-image":         catalogs,
	annotationDomain + "/community-operators-catalog-image":         catalogs,
	annotationDomain + "/redhat-marketplace-catalog-image":          catalogs,
	"oauth." + annotationDomain + "/login-url-override":             "there is no OAuth server",
}

// Explanations that several annotations share.
const (
	imagesOfRelease      = "images run in the management cluster next to those of other tenants, and come from the release: the installation checks its repository and signature. Build a release with the image"
	imagesOfInstallation = "images run in the management cluster next to those of other tenants: build a release with the image, or start the hypershift-operator with a flag that names it"
	dedicatedNodes       = "use spec.nodeSelector and spec.tolerations"
	sizes                = "there are no sizes: set requests with annotations of resource-request-override." + annotationDomain
	ingress              = "no ingress controller is installed"
	catalogs             = "there is no operator catalog"
)

// UnsupportedAnnotationPrefixes returns the domains of annotations without effect of which the names differ by cluster, with the
// reason.
func UnsupportedAnnotationPrefixes() map[string]string {
	return map[string]string{"idpoverrides." + annotationDomain: "there is no OAuth server"}
}

// AnnotationsNotActedOn returns the annotations with which the user expects something of the operators and that have no effect,
// sorted.
func (in *HostedCluster) AnnotationsNotActedOn() []string {
	return notActedOn(in.Annotations, AnnotationsOfHostedClusters())
}

// AnnotationsNotActedOn returns the same of a NodePool.
func (in *NodePool) AnnotationsNotActedOn() []string {
	return notActedOn(in.Annotations, AnnotationsOfNodePools())
}

func notActedOn(annotations map[string]string, known []string) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		domain, _, named := strings.Cut(key, "/")
		switch {
		case !named || domain != annotationDomain && !strings.HasSuffix(domain, "."+annotationDomain):
		case domain == ResourceRequestOverrideAnnotationPrefix || slices.Contains(known, key) || inherentAnnotations[key] != "":
		default:
			keys = append(keys, key)
		}
	}
	return keys
}
