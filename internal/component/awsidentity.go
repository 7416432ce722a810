package component

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/hosted-control-planes/hypershift/internal/names"
)

// AWSIdentity returns the environment in which the AWS SDK of a container assumes a role, with the token that the token minter of
// the pod writes.
func AWSIdentity(region, role string) []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "AWS_REGION", Value: region},
		{Name: "AWS_ROLE_ARN", Value: role},
		{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: names.WebIdentityTokenFile},
		// Version 1 of the SDK would use a global endpoint, which a VPC without internet access does not reach.
		{Name: "AWS_STS_REGIONAL_ENDPOINTS", Value: "regional"},
	}
}
