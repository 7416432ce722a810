// Package bastion is an instance in the VPC of a cluster for a person who looks for a problem there, as a graph of resources: what
// `hypershift create bastion aws` creates, and `destroy bastion aws` deletes.
//
// The instance is reached through Session Manager. Its agent connects to AWS, so that the instance needs no open port, no key and
// no address that others know. Its role may do nothing else.
package bastion
