package awsx

import "time"

// This file has every lifetime of something cached from AWS, and the window of
// AWS's eventual consistency. Lifetimes trade calls, which are throttled per
// account, for staleness. Intervals between reconciles are with the controllers.

// ConsistencyWindow is how long the lists of AWS may miss a write. EC2, ELB
// and Route53 are eventually consistent: usually for a few seconds, without a
// documented bound. For this long
//   - a cache keeps our own writes although a list does not show them yet, so
//     that a resource is not created twice or deleted again;
//   - a deletion does not trust a list that lacks a resource, if its creation was
//     recorded and the outcome is not known.
//
// A shorter window risks leaks and duplicates. A longer one delays only deletions
// that follow a crash.
const ConsistencyWindow = 30 * time.Second

// ResyncPeriod is how often AWS is compared with the desired state although no object has
// changed in the cluster. Default of a flag of both operators.
const ResyncPeriod = 30 * time.Minute

const (
	// SubnetTTL is long because VPC and zone of a subnet cannot change. It ends
	// so that a deleted subnet is noticed within a working day.
	SubnetTTL = 12 * time.Hour

	// InstanceTypeTTL is long because an instance type never changes. It ends so
	// that types which are no longer used leave the cache.
	InstanceTypeTTL = 12 * time.Hour
	// UnknownInstanceTypeTTL is short: AWS adds types to regions, and a user who
	// corrects a policy or a region waits for this to pass.
	UnknownInstanceTypeTTL = 10 * time.Minute

	// HostedZoneTTL is how long a hosted zone that was found is used. A deleted
	// zone is noticed at the next call. The check that the VPC still resolves the
	// zone, and that there is no second one, is worth few calls.
	HostedZoneTTL = 6 * time.Hour

	// PrincipalsTTL is how long the allowed principals of an endpoint service are
	// cached. AWS lists them for one service per call. This is the only call that a service
	// at rest costs. They are not changed by accident. Default of a flag.
	PrincipalsTTL = 12 * time.Hour

	// OIDCDocumentsTTL is how long published documents are trusted to be in the
	// bucket. Reading them costs two calls for each cluster. Default of a flag.
	OIDCDocumentsTTL = 6 * time.Hour

	// IdentityTTL is how long the last answer of AWS proves that AWS accepts the
	// tokens of a cluster. It is longer than the resync. The calls of the
	// resync renew the proof, so that no call is made for it alone. Default of a flag.
	IdentityTTL = 45 * time.Minute

	// RefusedCredentialsAge is the age from which credentials are replaced after AWS
	// has refused a call with them. Younger ones would be no different. A role without
	// a permission takes one call of STS in this time.
	RefusedCredentialsAge = 5 * time.Minute

	// IsolatedRolesTTL is how long the check lasts that the roles of a cluster trust
	// no service account. A trust policy changes rarely, and the check takes a call of
	// STS for each role, two for an exposed role.
	IsolatedRolesTTL = 12 * time.Hour
	// ExposedRolesTTL is how long the check lasts after it has found an exposed role.
	// A user who corrects the trust policy waits for it to pass.
	ExposedRolesTTL = 30 * time.Minute

	// DeletionListTTL is how old a list may be that a deletion starts with. A state that
	// has changed since shows in the answers to the delete calls and invalidates
	// the list. AWS takes minutes to delete an endpoint, and the deletions after
	// it need no new list.
	DeletionListTTL = 10 * time.Minute

	// Forever is for values that cannot change while the process runs.
	Forever = 100 * 365 * 24 * time.Hour
)

// SharedListTTL is how long a list of all load balancers or endpoint services of
// an account is used. It is shorter than the resync period, so that every resync
// compares with a newer list, and long enough that all objects share one.
func SharedListTTL(resync time.Duration) time.Duration { return resync * 3 / 4 }

// WorkerSecurityGroupTTL is how long the security groups of a cluster are used by
// the controller of the workers' group. It is longer than the resync period: the
// controller of the endpoints, which adds up to a fifth to that period, lists the
// same groups, and so its list serves both.
func WorkerSecurityGroupTTL(resync time.Duration) time.Duration { return resync * 5 / 4 }
