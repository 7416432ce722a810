// Package bastion is an instance in the VPC of a cluster for a person who looks for a problem there, as a graph of resources.
// `hypershift create bastion aws` creates them, and `destroy bastion aws` deletes them.
//
// The instance is reached through Session Manager. Its agent connects to AWS, so that the instance needs no open port, no key and
// no address that others know. Its role allows no other calls.
package bastion
