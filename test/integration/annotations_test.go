package integration

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// annotationValues maps each annotation of a HostedCluster to a value. Annotations that are not read while a cluster lives have none.
var annotationValues = map[string]string{
	hyperv1.RestartDateAnnotation:                                                      "2026-01-02T03:04:05Z",
	hyperv1.PodNetworkAnnotation:                                                       hyperv1.PodNetworkUnmanaged,
	hyperv1.OIDCProvidersInClusterNetworkAnnotation:                                    "corp",
	hyperv1.WebhooksInClusterNetworkAnnotation:                                         "true",
	hyperv1.DisableClusterAutoscalerAnnotation:                                         "true",
	hyperv1.ControlPlaneOperatorImageAnnotation:                                        "example.com/another:1",
	hyperv1.ResourceRequestOverrideAnnotationPrefix + "/kube-apiserver.kube-apiserver": "cpu=0.15,memory=0.25Gi",
	hyperv1.ResourceRequestOverrideAnnotationPrefix + "/etcd.etcd":                     "memory=209715200",
	hyperv1.KubeAPIServerGOGCAnnotation:                                                "100",
	hyperv1.KubeAPIServerGOMemLimitAnnotation:                                          "2GiB",
	hyperv1.KubeAPIServerGoAwayChanceAnnotation:                                        "0.01",
	hyperv1.KubeAPIServerMaxRequestsInFlightAnnotation:                                 "2000",
	hyperv1.KubeAPIServerMaxMutatingRequestsInFlightAnnotation:                         "500",
	hyperv1.KubeAPIServerServiceAccountTokenMaxExpirationAnnotation:                    "24h",
	hyperv1.KubeAPIServerVerbosityLevelAnnotation:                                      "2",
	hyperv1.ControlPlanePriorityClassAnnotation:                                        "hypershift-control-plane",
	hyperv1.APICriticalPriorityClassAnnotation:                                         "hypershift-api-critical",
	hyperv1.EtcdPriorityClassAnnotation:                                                "hypershift-etcd",
	hyperv1.MemoryLimitFactorAnnotation:                                                "3",
	hyperv1.DisablePKIReconciliationAnnotation:                                         "true",
	hyperv1.SigningKeyTypeAnnotation:                                                   hyperv1.SigningKeyTypeRSA,
	hyperv1.RotateSigningKeyAnnotation:                                                 "2026-01-02",
	hyperv1.RetireSigningKeyAnnotation:                                                 "",
	hyperv1.SigningKeyPublicationAnnotation:                                            "24h",
	hyperv1.SigningKeyMaxAgeAnnotation:                                                 "2160h",
	hyperv1.RotateCertificatesAnnotation:                                               "2026-01-02",
	hyperv1.RotationPauseAnnotation:                                                    "24h",
	hyperv1.CertificateValidityAnnotation:                                              "2160h",
	hyperv1.CertificateRenewalAnnotation:                                               "0.5",
	hyperv1.TargetNodeLabelsAnnotation:                                                 "role=ingress,zone=a",
	hyperv1.LoadBalancerSubnetsAnnotation:                                              "",
	hyperv1.SharedRouterAnnotation:                                                     "false", // the installation has none
	hyperv1.AWSLoadBalancerHealthProbeModeAnnotation:                                   "Shared",
	hyperv1.SharedLoadBalancerHealthProbePathAnnotation:                                "/health",
	hyperv1.SharedLoadBalancerHealthProbePortAnnotation:                                "10257",
	hyperv1.AWSMachinePublicIPsAnnotation:                                              "true",
	hyperv1.CleanupCloudResourcesAnnotation:                                            "no",
	hyperv1.DestroyGracePeriodAnnotation:                                               "1s",
	hyperv1.GiveUpAfterAnnotation:                                                      "20m",
	hyperv1.SleepAnnotation:                                                            "false",
	hyperv1.SleepScheduleAnnotation:                                                    "0 20 * * 1-5; 0 7 * * 1-5; Europe/Berlin",
	hyperv1.SleepMachinesAnnotation:                                                    hyperv1.SleepDelete,
	hyperv1.SleepLoadBalancersAnnotation:                                               hyperv1.SleepDelete,
	hyperv1.SleepEtcdAnnotation:                                                        hyperv1.SleepKeep,
	hyperv1.ForceUpgradeToAnnotation:                                                   "example.com/release:2",
	hyperv1.SkipReleaseImageValidationAnnotation:                                       "true",
	"hypershift.openshift.io/topology":                                                 "dedicated-request-serving-components", // without effect
	"hypershift.openshift.io/no-such-annotation":                                       "x",
	"example.com/of-another-controller":                                                "x",
	"kubectl.kubernetes.io/last-applied-configuration":                                 "{}",
}

// poolAnnotationValues are the values for a NodePool.
var poolAnnotationValues = map[string]string{
	hyperv1.MachineHealthCheckTimeoutAnnotation:            "480s",
	hyperv1.MachineHealthCheckNodeStartupTimeoutAnnotation: "0.5h",
	hyperv1.MachineHealthCheckMaxUnhealthyAnnotation:       "40%",
	hyperv1.MetadataHopLimitAnnotation:                     "2",
	hyperv1.UserDataFormatAnnotation:                       "cloud-config",
}

// TestEveryDocumentedAnnotationHasAValue keeps the tables complete.
func TestEveryDocumentedAnnotationHasAValue(t *testing.T) {
	page, err := os.ReadFile("../../docs/annotations.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^- \*\*(.+?)\*\*`)
	found := 0
	for section := range strings.SplitSeq(string(page), "\n## ") {
		values := annotationValues
		switch title, _, _ := strings.Cut(section, "\n"); {
		case strings.HasPrefix(title, "Annotations of a NodePool"):
			values = poolAnnotationValues
		case !strings.HasPrefix(title, "Annotations of a HostedCluster"):
			continue
		}
		for _, name := range named.FindAllStringSubmatch(section, -1) {
			found++
			if !slices.ContainsFunc(slices.Collect(maps.Keys(values)), func(key string) bool { return key == name[1] || strings.HasPrefix(key, name[1]+"/") }) {
				t.Errorf("there is no value for annotation %s", name[1])
			}
		}
	}
	if found < 30 {
		t.Errorf("the page has only %d annotations", found)
	}
}

// A value that an operator writes in one form and that the API server returns in another one makes controllers write forever, and each write
// wakes others. The operators are at rest with every annotation, and with every map and list that a user sets and that is passed on.
func TestOperatorsRestWithEveryAnnotation(t *testing.T) {
	c := newCluster(t, hyperv1.PublicAndPrivate)
	c.hc.Annotations = maps.Clone(annotationValues)
	c.hc.Spec.Configuration = &hyperv1.ClusterConfiguration{Authentication: &configv1.AuthenticationSpec{
		Type: configv1.AuthenticationTypeOIDC,
		OIDCProviders: []configv1.OIDCProvider{{
			Name:          annotationValues[hyperv1.OIDCProvidersInClusterNetworkAnnotation],
			Issuer:        configv1.TokenIssuer{URL: "https://idp.example.com", Audiences: []configv1.TokenAudience{"kubernetes"}},
			ClaimMappings: configv1.TokenClaimMappings{Username: configv1.UsernameClaimMapping{Claim: "email"}},
		}},
	}}
	// These would stop the start: they are set later.
	later := []string{hyperv1.DisablePKIReconciliationAnnotation, hyperv1.ControlPlaneOperatorImageAnnotation, hyperv1.LoadBalancerSubnetsAnnotation}
	for _, name := range later {
		delete(c.hc.Annotations, name)
	}
	c.hc.Labels = map[string]string{"team": "blue", "cost-center": "1.0"}
	c.hc.Spec.Labels = map[string]hyperv1.LabelValue{"team": "blue", "version": "1.0"}
	c.hc.Spec.NodeSelector = map[string]hyperv1.LabelValue{"kubernetes.io/os": "linux"}
	c.hc.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}, {Key: "team", Value: "blue", Effect: corev1.TaintEffectNoSchedule}}
	c.hc.Spec.Platform.AWS.ResourceTags = append(c.hc.Spec.Platform.AWS.ResourceTags, hyperv1.AWSResourceTag{Key: "version", Value: "1.0"})
	c.start()
	c.pool("a", 0, func(np *hyperv1.NodePool) {
		np.Annotations = maps.Clone(poolAnnotationValues)
		np.Spec.NodeLabels = map[string]hyperv1.LabelValue{"team": "blue", "example.com/version": "1.0"}
		np.Spec.Taints = []hyperv1.Taint{{Key: "team", Value: "blue", Effect: hyperv1.TaintEffect(corev1.TaintEffectNoSchedule)}}
		np.Spec.Platform.AWS.AMI = "ami-0123456789abcdef0"
		np.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "pool", Value: "a"}}
	})
	within(t.Context(), t, making, "the control plane is published and complete, except for its pods, and machines are requested", func() error {
		return errors.Join(has[*clusterv1.MachineDeployment]("a")(c), c.published(names.PrivateRouter, names.Router), c.reported(names.Etcd, names.KubeAPIServer, names.KubeControllerManager, names.KubeScheduler))
	})
	c.rest("with annotations from the beginning")
	for _, name := range later {
		value := annotationValues[name]
		if name == hyperv1.LoadBalancerSubnetsAnnotation {
			value = c.customer.Subnets[0].ID // unknown in the management account
		}
		c.update(func(hc *hyperv1.HostedCluster) { hc.Annotations[name] = value })
		c.rest("with " + name)
	}
}

// rest fails unless the operators stop writing for as long as three resyncs.
func (c *cluster) rest(when string) {
	c.t.Helper()
	const restful = 10 * time.Second
	begun := time.Now()
	within(c.t.Context(), c.t, making, "the operators rest "+when, func() error {
		found, err := c.writes()
		if err != nil {
			return err
		}
		last := found[len(found)-1]
		if since := time.Since(latest(last.at, begun)); since < restful {
			recent := slices.DeleteFunc(found, func(w write) bool { return w.at.Before(begun.Add(restful)) })
			return fmt.Errorf("%s was written %s ago; since %s:\n%s", last.what, since, begun.Add(restful).Format(time.TimeOnly), summary(recent))
		}
		return nil
	})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
