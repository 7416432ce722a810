// Package awstemplate renders a graph of AWS resources as a CloudFormation template or as a Terraform module, for users who may
// not run the command line in their account.
//
//	document.go        what is rendered: nodes, parameters and outputs
//	reference.go       references to what is known only when the document is applied
//	assembly.go        from nodes to resources
//	kinds.go           what each kind of node is in both languages
//	instance.go        an instance, with its volume and its network interface
//	cloudformation.go  the template, as JSON
//	terraform.go       the module, in the JSON syntax of Terraform
//
// The nodes are those that the command creates. The package asks a node for its desired attributes, with references in the place
// of ids, and translates them. So no resource is described twice, and a kind of node or an attribute without a translation is an
// error.
package awstemplate
