// Package cel holds what the API server must accept and refuse, as data, and asks a real API server.
//
//	testdata/bases/*.yaml   a valid object for each kind (and variant)
//	testdata/<topic>.yaml   cases: each a patch over a base, and the verdict
//
// A case file names the bases that all its cases run against (the HostedCluster and the HostedControlPlane share most of
// their spec, and so most of their cases):
//
//	bases: [hostedcluster]
//	cases:
//	- name: a region cannot be changed          # a sentence
//	  object: {spec: {...}}                     # JSON merge patch over the base; without it the base itself
//	  update: [{spec: {...}}, ...]              # patches, each over the result of the one before; all but the last must pass
//	  subresource: status                       # where the updates go, if not to the object
//	  reject: region cannot be changed          # part of the message, or
//	  accept: true
//
// TestEveryRuleHasACase is the strong check: each rule of the CRDs, at each place where it stands, must be the reason for a
// rejection.
package cel
