package validation

import (
	"strings"
	"testing"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

func TestValuesOfAnnotations(t *testing.T) {
	const etcd = hyperv1.ResourceRequestOverrideAnnotationPrefix + "/etcd.etcd"
	for key, values := range map[string]struct{ good, bad []string }{
		hyperv1.KubeAPIServerGOGCAnnotation:                             {[]string{"50", "100", "off"}, []string{"0", "-1", "much", "1.5"}},
		hyperv1.KubeAPIServerGOMemLimitAnnotation:                       {[]string{"2GiB", "500MiB", "1024", "1024B", "off"}, []string{"2Gi", "2GB", "0", "-1GiB", "2 GiB"}},
		hyperv1.KubeAPIServerGoAwayChanceAnnotation:                     {[]string{"0", "0.001", "0.02"}, []string{"0.03", "-0.001", "often", "NaN"}},
		hyperv1.KubeAPIServerMaxRequestsInFlightAnnotation:              {[]string{"1", "400"}, []string{"0", "-3", "many"}},
		hyperv1.KubeAPIServerMaxMutatingRequestsInFlightAnnotation:      {[]string{"1", "200"}, []string{"0", "2k"}},
		hyperv1.KubeAPIServerServiceAccountTokenMaxExpirationAnnotation: {[]string{"1h", "24h"}, []string{"59m", "24", "day"}},
		hyperv1.SigningKeyPublicationAnnotation:                         {[]string{"0s", "90s", "24h"}, []string{"-1h", "24", "day"}},
		hyperv1.SigningKeyMaxAgeAnnotation:                              {[]string{"24h", "2160h"}, []string{"1h", "-24h", "90", "90d"}},
		hyperv1.KubeAPIServerVerbosityLevelAnnotation:                   {[]string{"0", "2", "10"}, []string{"-1", "11", "debug"}},
		hyperv1.DestroyGracePeriodAnnotation:                            {[]string{"0s", "10m"}, []string{"10", "-1m", "soon"}},
		hyperv1.PrivateRecordTTLAnnotation:                              {[]string{"1s", "10s", "5m", "24h"}, []string{"0s", "300", "25h", "-1m"}},
		hyperv1.PreviousEndpointsAnnotation:                             {[]string{"Keep", "Replace", "Adopt"}, []string{"keep", "Delete"}},
		hyperv1.GiveUpAfterAnnotation:                                   {[]string{"0s", "10m"}, []string{"10", "-1m", "soon"}},
		hyperv1.AWSLoadBalancerHealthProbeModeAnnotation:                {[]string{"Shared", "ServiceNodePort"}, []string{"shared", "HTTP"}},
		hyperv1.SharedLoadBalancerHealthProbePathAnnotation:             {[]string{"/healthz", "/a/b"}, []string{"healthz", "/a\n[Global]", "/a b"}},
		hyperv1.SharedLoadBalancerHealthProbePortAnnotation:             {[]string{"10256"}, []string{"0", "65536", "http"}},
		etcd: {[]string{"cpu=1", "cpu=500m,memory=2Gi"}, []string{"", "cpu=0", "2Gi"}},
		hyperv1.ResourceRequestOverrideAnnotationPrefix + "/etcd": {nil, []string{"cpu=1"}},
	} {
		for _, value := range values.good {
			if errs := annotations(withAnnotation(key, value)); len(errs) > 0 {
				t.Errorf("%s %q: %v", key, value, errs)
			}
		}
		for _, value := range values.bad {
			errs := annotations(withAnnotation(key, value))
			if len(errs) == 0 || Reason(errs) != hyperv1.InvalidConfigurationReason || !strings.Contains(Message(errs), key) || !strings.Contains(Message(errs), "write ") {
				t.Errorf("%s %q: %v", key, value, errs)
			}
		}
	}
}

func withAnnotation(key, value string) *hyperv1.HostedCluster {
	hc := &hyperv1.HostedCluster{}
	hc.Annotations = map[string]string{key: value}
	return hc
}
