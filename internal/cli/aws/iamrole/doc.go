// Package iamrole has nodes for IAM roles and their policies, which several graphs of AWS resources use.
package iamrole
