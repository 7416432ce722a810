package main

// conditionText describes a condition in plain words.
type conditionText struct {
	condition string
	good      string // meaning of True
	quiet     bool   // another condition reports why it is not True, or the reason is of no interest
}

// conditionTexts are the printed conditions, by kind. Conditions of a HostedCluster that mirror another object's are quiet while
// they are not True: the other object reports the reason first.
var conditionTexts = map[string][]conditionText{
	"HostedCluster": {
		{condition: "ValidConfiguration", good: "its configuration is valid"},
		{condition: "ValidReleaseImage", good: "its release payload is readable"},
		{condition: "ValidOIDCConfiguration", good: "its OIDC documents are published"},
		{condition: "ValidAWSIdentityProvider", good: "AWS accepts the identity of its operator", quiet: true},
		{condition: "InfrastructureReady", good: "its load balancers have addresses", quiet: true},
		{condition: "AWSEndpointServiceAvailable", good: "its endpoint service exists", quiet: true},
		{condition: "AWSEndpointAvailable", good: "its endpoint and DNS records exist", quiet: true},
		{condition: "KubeAPIServerAvailable", good: "its API server responds", quiet: true},
		{condition: "Available", good: "it is available"},
	},
	"NodePool": {
		{condition: "Ready", good: "all of its nodes are available"},
	},
	"AWSEndpointService": {
		{condition: "AWSEndpointServiceAvailable", good: "the endpoint service is available"},
		{condition: "AWSEndpointAvailable", good: "the endpoint is available, and its name resolves for workers"},
	},
}
