package operator

import (
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
)

// Without the account of a role the owner of the bucket would not be compared.
func TestSessionsOfRolesHaveAnAccount(t *testing.T) {
	for roleARN, want := range map[string]string{"arn:aws:iam::123456789012:role/a": "123456789012", "arn:aws-cn:iam::1:role/a": "1", "a": "", "arn:aws:iam:::role/a": ""} {
		session, err := inAccountOf(roleARN, awssdk.Config{})
		if session.Account != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", roleARN, session.Account, err)
		}
	}
}
