// Package iam holds the policies that the operators and the programs of a hosted
// cluster need in AWS. A test checks that the policies of the operators allow
// exactly the calls of the `API` interfaces:
//
//	hypershift-operator.json       for the user or role of the hypershift-operator, in the management account
//	control-plane-operator.json    for rolesRef.controlPlaneOperatorARN, in the customer's account
//	node-pool-management.json      for rolesRef.nodePoolManagementARN, in the customer's account
//	cloud-controller.json          for rolesRef.kubeCloudControllerARN, in the customer's account
//	storage.json                   for rolesRef.storageARN, in the customer's account
//	ingress.json                   for rolesRef.ingressARN, in the customer's account
//	image-registry.json            for rolesRef.imageRegistryARN, in the customer's account
//	karpenter.json                 for autoNode.provisionerConfig.karpenter.aws.roleARN, in the customer's account
//	kms-provider.json              for secretEncryption.kms.aws.auth.awsKms, in the customer's account
//	shared-vpc-roles.json          for rolesRef.controlPlaneOperatorARN as well, if the VPC is shared
//	shared-vpc-control-plane.json  for sharedVPC.rolesRef.controlPlaneARN, in the account of the VPC
//	shared-vpc-ingress.json        for sharedVPC.rolesRef.ingressARN, in the account of the VPC
//
// They are templates for one cluster (docs/permissions.md): Fill replaces their
// variables, as envsubst does. Every action that changes a resource is limited by the
// resource, or by a condition on the tag of the cluster: aws:RequestTag for resources
// that are created, aws:ResourceTag for existing ones.
//
// cloud-controller.json is for the cloud-controller-manager of AWS: instances of nodes,
// and load balancers of Services with their security groups.
//
// ingress.json is for the records of applications, in zones with records of others: it allows changes of CNAMEs alone.
//
// image-registry.json is for the bucket of the image registry: the control-plane-operator creates and deletes it, and the registry reads and writes
// its objects. The resource is the beginning of the bucket's name, because a policy cannot limit the creation of a bucket by a tag.
//
// storage.json is for the EBS CSI driver. It may attach volumes that others created if these have the tag of the cluster with
// the value "shared". No test runs the driver.
//
// node-pool-management.json is for Cluster API's AWS provider, in a VPC that it does
// not manage. Other published policies for this role also allow it to create networks,
// load balancers and launch templates, which are not used here. They lack
// DescribeDhcpOptions and DescribeInstanceTypes, which each machine needs,
// ModifyInstanceMetadataOptions, the service-linked role of spot instances, and the
// keys of encrypted volumes.
//
// The integration tests attach these policies to the roles. A scenario fails if an
// action is missing. test/privilege lists the actions that no scenario has used, and
// their purpose.
package iam
