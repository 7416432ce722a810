package v1beta1

import "testing"

func TestRequestsThatCannotBeRead(t *testing.T) {
	for _, text := range []string{"", "cpu", "cpu=", "cpu=0", "cpu=-1", "memory=much", "disk=1Gi", "cpu=1;memory=1Gi", "cpu=1,,memory=1Gi"} {
		if got, err := ParseResourceRequests(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
