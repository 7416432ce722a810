// Package ec2util carries to EC2 and back what several of its resources have
// in common: tags, and refusals that come as part of an answer.
package ec2util
