// Package iam holds the policies that the operators need in AWS, and the test
// that they allow what the operators call and nothing else:
//
//	hypershift-operator.json     for the user or role of the hypershift-operator, in the management account
//	control-plane-operator.json  for rolesRef.controlPlaneOperatorARN, in the customer's account
package iam
