package oidc

import "testing"

func TestParseIssuer(t *testing.T) {
	for name, tc := range map[string]struct {
		issuer string
		want   Location
	}{
		"a bucket as a host":             {"https://docs.s3.us-east-1.amazonaws.com/a", Location{"docs", "us-east-1", "a"}},
		"a bucket with dots":             {"https://my.docs.s3.eu-west-1.amazonaws.com/a", Location{"my.docs", "eu-west-1", "a"}},
		"a bucket as a path":             {"https://s3.us-east-1.amazonaws.com/docs/a", Location{"docs", "us-east-1", "a"}},
		"an old host name":               {"https://docs.s3-eu-west-1.amazonaws.com/a", Location{"docs", "eu-west-1", "a"}},
		"a host name without a region":   {"https://docs.s3.amazonaws.com/a", Location{"docs", "", "a"}},
		"IPv6":                           {"https://docs.s3.dualstack.us-east-1.amazonaws.com/a", Location{"docs", "us-east-1", "a"}},
		"China":                          {"https://docs.s3.cn-north-1.amazonaws.com.cn/a", Location{"docs", "cn-north-1", "a"}},
		"GovCloud":                       {"https://docs.s3.us-gov-west-1.amazonaws.com/a", Location{"docs", "us-gov-west-1", "a"}},
		"a web server that is not S3":    {"https://oidc.example.com/a", Location{"", "", "a"}},
		"a host that only looks like S3": {"https://docs.s3.us-east-1.amazonaws.com.example.com/a", Location{"", "", "a"}},
		"no URL":                         {"https://%zz", Location{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ParseIssuer(tc.issuer); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
