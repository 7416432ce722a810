// Package awsemulator is AWS on this machine: for processes that are not ours, such as
// the cloud-controller-manager, and for our own binaries when they run as users run them.
//
//	emulator/          Python: moto (from PyPI, pinned with hashes) and the rules that moto
//	                   leaves out, one module per idea
//	install.go         a virtual environment in the cache directory, made once
//	emulator.go        Start, Stop
//	client.go          what a test reads and controls: calls, faults, delays, leftovers
//	requests.go        requests that the service models of AWS do not allow
//	servicemodels.go   questions to the service models
//	seed.go            a customer's and a management account, ready for a hosted cluster
//	roles.go           roles, their permissions, and the profiles of instances
//	capacity.go        AWS has no machines left, or no more for this account
//	cmd/awsemulator    the same, started by hand
//
// An account needs no set-up: the access key id is the account id. Tests that run in
// parallel take an account each (Account) and share one server. Each request is checked
// against the service model that AWS publishes; a request that AWS would refuse is refused, and
// fails the test that owns the account. TestMain calls Run, which fails for the others.
//
// For unit tests and for scale there is test/fakeaws, which is several hundred times
// faster. test/awscontract runs the same cases against both.
package awsemulator
