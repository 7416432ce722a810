// Package iam holds the policies that the operators need in AWS, and the test
// that those of our own programs allow what they call and nothing else:
//
//	hypershift-operator.json       for the user or role of the hypershift-operator, in the management account
//	control-plane-operator.json    for rolesRef.controlPlaneOperatorARN, in the customer's account
//	node-pool-management.json      for rolesRef.nodePoolManagementARN, in the customer's account
//	cloud-controller.json          for rolesRef.kubeCloudControllerARN, in the customer's account
//	kms-provider.json              for secretEncryption.kms.aws.auth.awsKms, in the customer's account
//	shared-vpc-roles.json          for rolesRef.controlPlaneOperatorARN as well, if the VPC is shared
//	shared-vpc-control-plane.json  for sharedVPC.rolesRef.controlPlaneARN, in the account of the VPC
//	shared-vpc-ingress.json        for sharedVPC.rolesRef.ingressARN, in the account of the VPC
//
// They are templates for one cluster (docs/permissions.md): Fill replaces their variables, as
// envsubst does. What changes something is limited by its resource, or by a condition on the
// tag of the cluster: aws:RequestTag for what is created, aws:ResourceTag for what is there.
//
// cloud-controller.json is for the cloud-controller-manager of AWS: instances of nodes, and
// load balancers of Services with their security groups. node-pool-management.json is for a program that is not ours, Cluster API's
// AWS provider, and has what that calls for machines in a VPC that is in other hands. Other
// documents for this role let it make networks, load balancers and launch
// templates too, which nothing of ours asks it to; they lack DescribeDhcpOptions
// and DescribeInstanceTypes, which each machine needs, ModifyInstanceMetadataOptions,
// the service-linked role of spot instances, and the keys of encrypted volumes.
// The stage of the integration tests gives these documents to the roles that the
// programs act as, so that a story fails if an action is missing; test/privilege
// lists the actions that no scenario has used, and what they are for.
package iam
