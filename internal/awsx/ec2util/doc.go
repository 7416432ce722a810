// Package ec2util converts to EC2's types and back the parts that several resources have
// in common: tags, and refusals that come as part of an answer.
package ec2util
