package clusterconditions

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// Healthy returns the statuses of conditions of a HostedCluster in which all is well, by type. A condition that does not apply to
// a cluster is absent there. Conditions about the course of a deletion are not in the table.
func Healthy() map[string]metav1.ConditionStatus { return maps.Clone(healthyConditions) }

var healthyConditions = map[string]metav1.ConditionStatus{
	hyperv1.HostedClusterAvailable:   metav1.ConditionTrue,
	hyperv1.HostedClusterProgressing: metav1.ConditionFalse,
	hyperv1.HostedClusterDegraded:    metav1.ConditionFalse,
	hyperv1.HostedClusterReady:       metav1.ConditionTrue,
	hyperv1.HostedClusterStalled:     metav1.ConditionFalse,
	hyperv1.ReconciliationActive:     metav1.ConditionTrue,
	hyperv1.ReconciliationSucceeded:  metav1.ConditionTrue,
	hyperv1.SupportedFields:          metav1.ConditionTrue,
	hyperv1.NetworkPoliciesEnforced:  metav1.ConditionTrue,
	hyperv1.EtcdBackupSucceeded:      metav1.ConditionTrue,

	hyperv1.ServiceAccountSigningKeyRotated: metav1.ConditionTrue,

	hyperv1.ValidHostedClusterConfiguration: metav1.ConditionTrue,
	hyperv1.SupportedHostedCluster:          metav1.ConditionTrue,
	hyperv1.ValidReleaseImage:               metav1.ConditionTrue,
	hyperv1.ValidProxyConfiguration:         metav1.ConditionTrue,
	hyperv1.PlatformCredentialsFound:        metav1.ConditionTrue,
	hyperv1.UnmanagedEtcdAvailable:          metav1.ConditionTrue,

	hyperv1.ValidOIDCConfiguration:         metav1.ConditionTrue,
	hyperv1.ValidAWSIdentityProvider:       metav1.ConditionTrue,
	hyperv1.AWSRolesIsolated:               metav1.ConditionTrue,
	hyperv1.ValidAWSKMSConfig:              metav1.ConditionTrue,
	hyperv1.AWSDefaultSecurityGroupCreated: metav1.ConditionTrue,
	hyperv1.AWSEndpointServiceAvailable:    metav1.ConditionTrue,
	hyperv1.AWSEndpointAvailable:           metav1.ConditionTrue,

	hyperv1.InfrastructureReady:                   metav1.ConditionTrue,
	hyperv1.EtcdAvailable:                         metav1.ConditionTrue,
	hyperv1.KubeAPIServerAvailable:                metav1.ConditionTrue,
	hyperv1.KubeAPIServerReachable:                metav1.ConditionTrue,
	hyperv1.ExternalDNSReachable:                  metav1.ConditionTrue,
	hyperv1.ValidHostedControlPlaneConfiguration:  metav1.ConditionTrue,
	hyperv1.ValidReleaseInfo:                      metav1.ConditionTrue,
	hyperv1.ConfigOperatorReconciliationSucceeded: metav1.ConditionTrue,
	hyperv1.DataPlaneConnectionAvailable:          metav1.ConditionTrue,
	hyperv1.EndpointAccessUpToDate:                metav1.ConditionTrue,
	hyperv1.KubeletServingCertificatesSigned:      metav1.ConditionTrue,
	hyperv1.PodNetworkInstalled:                   metav1.ConditionTrue,
	hyperv1.AdditionalPullSecretMerged:            metav1.ConditionTrue,
	hyperv1.IngressAvailable:                      metav1.ConditionTrue,
	hyperv1.IngressRecordsAvailable:               metav1.ConditionTrue,
	hyperv1.ImageRegistryAvailable:                metav1.ConditionTrue,
	hyperv1.ImageRegistryBucketAvailable:          metav1.ConditionTrue,
	hyperv1.ControlPlaneConnectionAvailable:       metav1.ConditionTrue,
	hyperv1.EtcdDataEncryptionUpToDate:            metav1.ConditionTrue,
	hyperv1.AutoNodeEnabled:                       metav1.ConditionTrue,

	hyperv1.ClusterVersionSucceeding:      metav1.ConditionTrue,
	hyperv1.ClusterVersionProgressing:     metav1.ConditionFalse,
	hyperv1.ClusterVersionReleaseAccepted: metav1.ConditionTrue,
	hyperv1.ClusterVersionAvailable:       metav1.ConditionTrue,
}
