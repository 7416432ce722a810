package validation

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/apiserverconfig"
	"github.com/hosted-control-planes/hypershift/internal/controlchars"
)

// annotationValues are the values of annotations of a HostedCluster that programs of the control plane would refuse at their
// start. Values of other annotations are checked where they are used.
var annotationValues = map[string]struct {
	valid    func(string) bool
	expected string
}{
	hyperv1.KubeAPIServerGOGCAnnotation:                             {isGOGC, "a percentage such as 100, or off"},
	hyperv1.KubeAPIServerGOMemLimitAnnotation:                       {memoryLimit.MatchString, "a size such as 2GiB, or off"},
	hyperv1.KubeAPIServerGoAwayChanceAnnotation:                     {isGoAwayChance, "a fraction from 0 to 0.02, such as 0.001"},
	hyperv1.KubeAPIServerMaxRequestsInFlightAnnotation:              {isFrom(1, 1<<20), "a number above 0, such as 3000"},
	hyperv1.KubeAPIServerMaxMutatingRequestsInFlightAnnotation:      {isFrom(1, 1<<20), "a number above 0, such as 1000"},
	hyperv1.KubeAPIServerServiceAccountTokenMaxExpirationAnnotation: {isTokenExpiration, "a duration of one hour at least, such as 24h"},
	hyperv1.SigningKeyPublicationAnnotation:                         {isDuration, "a duration such as 24h"},
	hyperv1.SigningKeyMaxAgeAnnotation:                              {isKeyAge, "a duration of 24h at least, such as 2160h"},
	hyperv1.KubeAPIServerVerbosityLevelAnnotation:                   {isFrom(0, 10), "a number from 0 to 10, such as 2"},
	hyperv1.DestroyGracePeriodAnnotation:                            {isDuration, "a duration such as 10m"},
	hyperv1.GiveUpAfterAnnotation:                                   {isDuration, "a duration such as 10m"},
	hyperv1.PrivateRecordTTLAnnotation:                              {isRecordTTL, "a duration from 1s to 24h, such as 5m"},
	hyperv1.WebhooksInClusterNetworkAnnotation:                      {isBool, "true or false"},
	hyperv1.SharedRouterAnnotation:                                  {isBool, "true or false"},
	hyperv1.PreviousEndpointsAnnotation:                             {isPreviousEndpoints, "Keep, Replace or Adopt"},
	hyperv1.AWSLoadBalancerHealthProbeModeAnnotation:                {isHealthProbeMode, "Shared or ServiceNodePort"},
	hyperv1.SharedLoadBalancerHealthProbePathAnnotation:             {isHealthProbePath, "a path such as /healthz"},
	hyperv1.SharedLoadBalancerHealthProbePortAnnotation:             {isFrom(1, 65535), "a port such as 10256"},
}

// annotations rejects values that cannot be used.
func annotations(hc *hyperv1.HostedCluster) (errs field.ErrorList) {
	at := field.NewPath("metadata", "annotations")
	var providers []configv1.OIDCProvider
	if auth := authenticationOf(&hc.Spec); auth != nil {
		providers = auth.OIDCProviders
	}
	if _, err := apiserverconfig.InClusterNetwork(hc.Annotations, providers); err != nil {
		key := hyperv1.OIDCProvidersInClusterNetworkAnnotation
		errs = append(errs, configuration.invalid(at.Key(key), hc.Annotations[key], "%v: name one of them", err))
	}
	for _, key := range sortedKeys(hc.Annotations) {
		value := hc.Annotations[key]
		if check, exists := annotationValues[key]; exists && value != "" && !check.valid(value) {
			errs = append(errs, configuration.invalid(at.Key(key), value, "annotation %s is %q: write %s", key, value, check.expected))
		}
		domain, name, _ := strings.Cut(key, "/")
		if domain != hyperv1.ResourceRequestOverrideAnnotationPrefix {
			continue
		}
		if workload, container, _ := strings.Cut(name, "."); workload == "" || container == "" {
			errs = append(errs, configuration.invalid(at.Key(key), value, "annotation %s names no container: write %s/<deployment>.<container>", key, domain))
		}
		if _, err := hyperv1.ParseResourceRequests(value); err != nil {
			errs = append(errs, configuration.invalid(at.Key(key), value, "annotation %s is %q: %v: write requests such as cpu=500m,memory=2Gi", key, value, err))
		}
	}
	return errs
}

func isRecordTTL(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d >= time.Second && d <= 24*time.Hour
}

func isPreviousEndpoints(text string) bool {
	return text == hyperv1.PreviousEndpointsKeep || text == hyperv1.PreviousEndpointsReplace || text == hyperv1.PreviousEndpointsAdopt
}

func isGOGC(text string) bool { return text == "off" || isFrom(1, 10000)(text) }

// memoryLimit matches values that the Go runtime accepts. A program stops at its start with any other.
var memoryLimit = regexp.MustCompile(`^([1-9][0-9]{0,11}(B|[KMGT]iB)?|off)$`)

func isGoAwayChance(text string) bool {
	chance, err := strconv.ParseFloat(text, 64)
	return err == nil && chance >= 0 && chance <= 0.02
}

func isTokenExpiration(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d >= time.Hour && d <= (1<<32)*time.Second
}

// isKeyAge accepts ages at which one rotation ends before the next one begins.
func isKeyAge(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d >= 24*time.Hour
}

func isBool(text string) bool { return text == "true" || text == "false" }

func isDuration(text string) bool {
	d, err := time.ParseDuration(text)
	return err == nil && d >= 0
}

func isHealthProbeMode(text string) bool { return text == "Shared" || text == "ServiceNodePort" }

func isHealthProbePath(text string) bool {
	return strings.HasPrefix(text, "/") && !controlchars.In(text) && !strings.ContainsAny(text, " \"#;\\")
}

// isFrom returns whether a text is a whole number in a range.
func isFrom(least, most int) func(string) bool {
	return func(text string) bool {
		n, err := strconv.Atoi(text)
		return err == nil && least <= n && n <= most
	}
}
