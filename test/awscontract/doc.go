// Package awscontract says what AWS answers, once, for every bed that stands in for it.
//
//	cases_*_test.go            what AWS does: steps through the real SDK clients
//	world_test.go              the two accounts that every case finds
//	bed_*_test.go              fakeaws, the emulator, AWS itself
//	settle_test.go             descriptions wait until EC2 finds what was created
//	known_differences_test.go  where a bed differs, and why that is all right
//
// A difference that is not listed fails, and so does a listed one that is gone.
//
// fakeaws always runs, the emulator where Python is (not with -short). AWS runs when
// HYPERSHIFT_CONTRACT_AWS=1 and takes what it needs from accounts prepared by hand;
// bed_aws_test.go says how. It costs a few cents and ten minutes.
package awscontract
