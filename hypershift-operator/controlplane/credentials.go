package controlplane

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

// credentials lists the Secrets of the control plane with one role each. A role that is
// optional and not set has no Secret. The roles of the ingress operator and of the image
// registry are used inside the hosted cluster only. forNodes is true for components that
// run only in the control plane of a cluster that has nodes.
var credentials = []struct {
	secret, field      string
	role               func(hyperv1.AWSRolesRef) hyperv1.RoleARN
	optional, forNodes bool
}{
	{"cloud-controller-creds", "kubeCloudControllerARN", func(r hyperv1.AWSRolesRef) hyperv1.RoleARN { return r.KubeCloudControllerARN }, false, true},
	{names.NodeManagementCredentials, "nodePoolManagementARN", func(r hyperv1.AWSRolesRef) hyperv1.RoleARN { return r.NodePoolManagementARN }, false, true},
	{"control-plane-operator-creds", "controlPlaneOperatorARN", func(r hyperv1.AWSRolesRef) hyperv1.RoleARN { return r.ControlPlaneOperatorARN }, false, false},
	{"cloud-network-config-controller-creds", "networkARN", func(r hyperv1.AWSRolesRef) hyperv1.RoleARN { return r.NetworkARN }, true, true},
	{"ebs-cloud-credentials", "storageARN", func(r hyperv1.AWSRolesRef) hyperv1.RoleARN { return r.StorageARN }, true, true},
}

const (
	// kmsCredentials is for the component that encrypts and decrypts with AWS KMS.
	kmsCredentials = "kms-creds"
	// karpenterCredentials is for Karpenter, which creates nodes on demand.
	karpenterCredentials = "karpenter-creds"
	credentialsKey       = "credentials"
	// tokenFile is the path at which components read their AWS token.
	tokenFile = "/var/run/secrets/openshift/serviceaccount/token"
)

// Credentials returns one Secret for each role of the spec, with a configuration file
// of the AWS SDKs. It blocks on a role that is empty. The Secrets of components for nodes
// are left out unless nodes is true.
func Credentials(n Namespace, spec *hyperv1.HostedClusterSpec, nodes bool) ([]client.Object, error) {
	var secrets []client.Object
	add := func(name, region, role string) {
		secrets = append(secrets, n.Secret(name, corev1.SecretTypeOpaque, map[string][]byte{credentialsKey: awsConfig(region, role)}))
	}
	if aws := spec.Platform.AWS; spec.Platform.Type == hyperv1.AWSPlatform && aws != nil {
		for _, c := range credentials {
			role := c.role(aws.RolesRef)
			if role == "" && c.optional {
				continue
			}
			if role == "" {
				return nil, reconcile.Block(hyperv1.PlatformCredentialsNotFoundReason, "spec.platform.aws.rolesRef.%s is empty: name the role", c.field)
			}
			if nodes || !c.forNodes {
				add(c.secret, aws.Region, string(role))
			}
		}
	}
	if aws, karpenter := spec.Platform.AWS, spec.AutoNode.Karpenter(); aws != nil && karpenter != nil {
		add(karpenterCredentials, aws.Region, string(karpenter.RoleARN))
	}
	if enc := spec.SecretEncryption; enc != nil && enc.KMS != nil && enc.KMS.AWS != nil {
		add(kmsCredentials, enc.KMS.AWS.Region, enc.KMS.AWS.Auth.AWSKMSRoleARN)
	}
	return secrets, nil
}

// awsConfig returns a configuration file of the AWS SDKs.
func awsConfig(region, role string) []byte {
	return fmt.Appendf(nil, "[default]\nrole_arn = %s\nweb_identity_token_file = %s\nsts_regional_endpoints = regional\nregion = %s\n", role, tokenFile, region)
}
