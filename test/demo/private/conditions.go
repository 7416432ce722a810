package main

// word says a condition in plain words.
type word struct {
	condition string
	good      string // what it means that it is True
	quiet     bool   // why it is not True is told by another condition, or of no interest
}

// words are the conditions that the story tells of, by kind. Those of a HostedCluster that mirror another object's are quiet
// while they are not True: the other object tells it first.
var words = map[string][]word{
	"HostedCluster": {
		{condition: "ValidConfiguration", good: "its configuration is valid"},
		{condition: "ValidReleaseImage", good: "its release can be read"},
		{condition: "ValidOIDCConfiguration", good: "its OIDC documents are published"},
		{condition: "ValidAWSIdentityProvider", good: "AWS knows its operator by them", quiet: true},
		{condition: "InfrastructureReady", good: "its load balancers have addresses", quiet: true},
		{condition: "AWSEndpointServiceAvailable", good: "its endpoint service is there", quiet: true},
		{condition: "AWSEndpointAvailable", good: "its endpoint and DNS records are there", quiet: true},
		{condition: "KubeAPIServerAvailable", good: "its API server answers", quiet: true},
		{condition: "Available", good: "it is available"},
	},
	"NodePool": {
		{condition: "Ready", good: "all of its nodes are available"},
	},
	"AWSEndpointService": {
		{condition: "AWSEndpointServiceAvailable", good: "the endpoint service is available"},
		{condition: "AWSEndpointAvailable", good: "the endpoint is available, and workers find it by name"},
	},
}
