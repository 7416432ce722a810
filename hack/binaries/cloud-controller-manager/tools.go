//go:build tools

package tools

import (
	_ "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager"
	_ "k8s.io/cloud-provider-aws/cmd/ecr-credential-provider"
)
