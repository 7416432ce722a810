package hostedcluster

import "testing"

func TestPlaceOf(t *testing.T) {
	for name, tc := range map[string]struct {
		issuer string
		want   place
	}{
		"a bucket as a host":             {"https://docs.s3.us-east-1.amazonaws.com/a", place{"docs", "us-east-1", "a"}},
		"a bucket with dots":             {"https://my.docs.s3.eu-west-1.amazonaws.com/a", place{"my.docs", "eu-west-1", "a"}},
		"a bucket as a path":             {"https://s3.us-east-1.amazonaws.com/docs/a", place{"docs", "us-east-1", "a"}},
		"an old host name":               {"https://docs.s3-eu-west-1.amazonaws.com/a", place{"docs", "eu-west-1", "a"}},
		"a host name without a region":   {"https://docs.s3.amazonaws.com/a", place{"docs", "", "a"}},
		"IPv6":                           {"https://docs.s3.dualstack.us-east-1.amazonaws.com/a", place{"docs", "us-east-1", "a"}},
		"China":                          {"https://docs.s3.cn-north-1.amazonaws.com.cn/a", place{"docs", "cn-north-1", "a"}},
		"GovCloud":                       {"https://docs.s3.us-gov-west-1.amazonaws.com/a", place{"docs", "us-gov-west-1", "a"}},
		"somebody else's web server":     {"https://oidc.example.com/a", place{"", "", "a"}},
		"a host that only looks like S3": {"https://docs.s3.us-east-1.amazonaws.com.example.com/a", place{"", "", "a"}},
		"no URL":                         {"https://%zz", place{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := placeOf(tc.issuer); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
