// Package awstemplate renders a graph of AWS resources as a CloudFormation template or as a Terraform module, for users who may
// not run the command line in their account.
//
//	document.go        the input: nodes, parameters and outputs
//	reference.go       references to values that are known only when the document is applied
//	assembly.go        from nodes to resources
//	kinds.go           the resource types of each kind of node in both languages
//	instance.go        an instance, with its volume and its network interface
//	cloudformation.go  the template, as JSON
//	terraform.go       the module, in the JSON syntax of Terraform
//
// The nodes are the command's nodes. The package gets the desired attributes of each node, with references in the place
// of ids, and translates them. So no resource is described twice, and a kind of node or an attribute without a translation is an
// error.
package awstemplate
