// Package fakeaws is an AWS in memory, under the real SDK clients.
//
//	client ─ validation ─ serialization ─ retryer ─ signer ─┐            (the SDK's own)
//	                                                        ▼
//	serve ─ who calls? ─ record ─ fault? ─ valid?       ─ what is due happens ─ operation ─ answer
//	        identity.go  recorder.go faults.go constraints.go  cloud.go        operations.go
//
// There is no wire format: an operation is a function from the SDK's input type to
// its output type, in the file of its resource. An unknown part of an operation (an input field, a
// filter), and a request that the service model of AWS does not allow, are reported to the test and
// never ignored.
//
// A test makes a Cloud, seeds its accounts (AddVPC, AddSubnet, AddLoadBalancer,
// AddHostedZone, AddBucket, AddRole, AddIdentityProvider), and gets clients from
// Account.Config, or installs the cloud under production's own clients:
//
//	awsx.NewConfig(ctx, awsx.Options{..., Middleware: []func(*middleware.Stack) error{cloud.Install, fakeaws.NoBackoff}})
//
// Then it breaks things (Fault, FailEndpoint, ExpireCredentials, Remove...), and reads the result (Snapshot, Calls). The suite in
// test/awscontract proves that AWS behaves in the same way; a new operation begins with a case there.
//
// Time is the clock's: things are pending, deleting and gone when the test steps
// it, and lists may lag behind. Nothing here starts a goroutine.
package fakeaws
