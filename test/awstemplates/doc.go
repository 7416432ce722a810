// Package awstemplates applies CloudFormation templates and Terraform modules to an account of the emulator, as far as the
// documents of internal/cli/aws/awstemplate need it.
//
//	cloudformation.go  intrinsic functions, rules, types and properties of templates
//	terraform.go       references, data sources, types and arguments of modules in the JSON syntax
//	account.go         the calls that both make
//
// An unknown function, type or property is an error. Resources are created in a random order, as far
// as references and DependsOn allow, so that a missing dependency is found.
//
// CloudFormation and Terraform differ from this package where the documents do not care: they wait, repeat, update, delete and
// roll back, and CloudFormation adds tags of its own.
package awstemplates
