package validation

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/controlchars"
)

// A value of an annotation that is refused is named in the error with its key. What is accepted is read by the programs of the control plane.
func FuzzAnnotations(f *testing.F) {
	for key := range annotationValues {
		for _, value := range []string{"100", "off", "2GiB", "0.001", "24h", "10m", "-1s", "1e3", "0x10", "NaN", "Inf", "Shared", "/healthz", "/a\nb", "9999999999999h", "1_000", "٣", "+5", "-0"} {
			f.Add(key, value)
		}
	}
	f.Add(hyperv1.ResourceRequestOverrideAnnotationPrefix+"/kube-apiserver.kube-apiserver", "cpu=500m,memory=2Gi")
	f.Add(hyperv1.ResourceRequestOverrideAnnotationPrefix+"/.", "cpu=,=,a")
	f.Fuzz(func(t *testing.T, key, value string) {
		hc := withAnnotation(key, value)
		errs := annotations(hc)
		for _, err := range errs {
			if !strings.Contains(err.Error(), key) && !strings.ContainsAny(key, "\"\\") && !controlchars.In(key) && strings.ToValidUTF8(key, "") == key {
				t.Errorf("the error does not name %q: %v", key, err)
			}
		}
		if len(errs) > 0 || value == "" || annotationValues[key].valid == nil {
			return
		}
		if controlchars.In(value) || strings.ContainsAny(value, " \"'`$;&|<>") {
			t.Errorf("annotation %s may be %q", key, value)
		}
		switch key {
		case hyperv1.DestroyGracePeriodAnnotation, hyperv1.GiveUpAfterAnnotation, hyperv1.KubeAPIServerServiceAccountTokenMaxExpirationAnnotation,
			hyperv1.SigningKeyPublicationAnnotation, hyperv1.SigningKeyMaxAgeAnnotation:
			if d, err := time.ParseDuration(value); err != nil || d < 0 {
				t.Errorf("annotation %s may be %q", key, value)
			}
		}
	})
}

// Objects of users are validated without a panic, and errors are complete. CRDs do not check all that a decoder accepts.
func FuzzObjects(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"spec":{"platform":{"type":"AWS","aws":{"region":"us-east-1","endpointAccess":"Private","rolesRef":{}}},"networking":{"clusterNetwork":[{"cidr":"10.132.0.0/14"}],"serviceNetwork":[{"cidr":"172.31.0.0/16"}]}}}`,
		`{"spec":{"services":[{"service":"APIServer","servicePublishingStrategy":{"type":"NodePort","nodePort":{"address":"::1","port":-1}}},{"service":"x","servicePublishingStrategy":{"type":"Route","route":{"hostname":"a..b"}}}]}}`,
		`{"spec":{"secretEncryption":{"type":"kms","kms":{"provider":"AWS","aws":{"activeKey":{"arn":"arn:aws:kms:us-east-1:1:key/a"}}}},"etcd":{"managementType":"Unmanaged","unmanaged":{"endpoint":"https://%zz"}}}}`,
		`{"spec":{"configuration":{"proxy":{"httpProxy":"http://u:p@h","noProxy":",*,[::1]:1,a:b:c"},"apiServer":{"servingCerts":{"namedCertificates":[{"names":["*"]}]}},"authentication":{"type":"OIDC","oidcProviders":[{"issuer":{"issuerURL":"https://a?b"}}]}}}}`,
		`{"spec":{"autoscaling":{"maxNodeProvisionTime":"1h"},"pausedUntil":"2026-13-01","etcd":{"managed":{"storage":{"restoreSnapshotURL":["s3://a"]}}},"taints":[{"key":"a","effect":"b"}],"replicas":-1,"nodeLabels":{"":"x"},"platform":{"type":"AWS","aws":{"subnet":{},"rootVolume":{"iops":-1}}}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		hc, np := &hyperv1.HostedCluster{}, &hyperv1.NodePool{}
		if json.Unmarshal(text, hc) == nil {
			for _, err := range HostedCluster(hc) {
				if err.Field == "" || err.Detail == "" {
					t.Errorf("an error without a field or a reason: %v", err)
				}
			}
		}
		if json.Unmarshal(text, np) == nil {
			for _, err := range NodePool(np, hc, NodePoolDefaults{}) {
				if err.Field == "" || err.Detail == "" {
					t.Errorf("an error without a field or a reason: %v", err)
				}
			}
		}
	})
}
