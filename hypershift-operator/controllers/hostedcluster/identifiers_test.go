package hostedcluster

import (
	"strings"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// publish changes how a service is published.
func publish(hc *hyperv1.HostedCluster, svc hyperv1.ServiceType, how hyperv1.PublishingStrategyType, host string) {
	p := hyperv1.ServicePublishingStrategy{Type: how}
	if how == hyperv1.Route && host != "" {
		p.Route = &hyperv1.RoutePublishingStrategy{Hostname: host}
	}
	for i := range hc.Spec.Services {
		if hc.Spec.Services[i].Service == svc {
			hc.Spec.Services[i].ServicePublishingStrategy = p
		}
	}
}

func kms(in string) *hyperv1.SecretEncryptionSpec {
	return &hyperv1.SecretEncryptionSpec{Type: hyperv1.KMS, KMS: &hyperv1.KMSSpec{Provider: hyperv1.AWSKMS, AWS: &hyperv1.AWSKMSSpec{
		Region: in, ActiveKey: hyperv1.AWSKMSKeyEntry{ARN: "arn:aws:kms:us-east-1:222222222222:key/1"},
		Auth: hyperv1.AWSKMSAuthSpec{AWSKMSRoleARN: "arn:aws:iam::222222222222:role/kms"},
	}}}
}

func TestInfraIDFitsNamesOfAWS(t *testing.T) {
	for name, hc := range map[string]string{
		"short":                     "demo",
		"long":                      strings.Repeat("abcdefghij", 6),
		"dotted":                    "demo.example.com",
		"cut behind a dash":         strings.Repeat("a", 20) + "-bcd",
		"as long as may be already": strings.Repeat("a", 21),
	} {
		t.Run(name, func(t *testing.T) {
			c := privateCluster()
			c.Name, c.UID = hc, "uid-1"
			id := infraID(c)
			if len(id) > 27 || strings.Contains(id, ".") || strings.Contains(id, "--") {
				t.Errorf("infraID %q", id)
			}
			c.UID = "uid-2"
			if infraID(c) == id {
				t.Errorf("two clusters have infraID %q", id)
			}
		})
	}
}
