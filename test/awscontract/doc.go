// Package awscontract defines the answers of AWS, once, for every test bed in place of AWS.
//
//	cases_*_test.go            the behaviour of AWS: steps through the real SDK clients
//	world_test.go              the two accounts that every case finds
//	bed_*_test.go              fakeaws, the emulator, AWS itself
//	settle_test.go             descriptions wait until EC2 finds created resources
//	known_differences_test.go  where a bed differs, and why that is all right
//
// A difference that is not listed fails, and so does a listed difference that no longer exists.
//
// fakeaws always runs, the emulator where Python is (not with -short). AWS runs when
// HYPERSHIFT_CONTRACT_AWS=1 and takes its resources from accounts prepared by hand; see
// bed_aws_test.go. It costs a few cents and ten minutes.
package awscontract
