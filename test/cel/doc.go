// Package cel tests which objects the CRDs accept and reject. The cases are data, and run on a real API server.
//
//	testdata/bases/*.yaml   a valid object for each kind (and variant)
//	testdata/applied/*.yaml manifests that must be stored as they are applied
//	testdata/<topic>.yaml   cases: each a patch over a base, and the expected result
//
// A case file names the bases of all its cases (HostedCluster and HostedControlPlane share most of their spec, and so most of
// their cases):
//
//	bases: [hostedcluster]
//	cases:
//	- name: a region cannot be changed          # a sentence
//	  object: {spec: {...}}                     # JSON merge patch over the base; without it the base itself
//	  update: [{spec: {...}}, ...]              # patches, each over the result of the previous one; all but the last must pass
//	  subresource: status                       # target of the updates, if not the object
//	  reject: region cannot be changed          # part of the message, or
//	  accept: true
//
// TestEveryRuleHasACase is the strong check: each rule of the CRDs, at each path where it occurs, must be the reason for a
// rejection.
package cel
