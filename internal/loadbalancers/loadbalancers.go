// Package loadbalancers defines an installation's settings for the load balancers of control planes: which controller
// of the management cluster creates them, and how. Both operators have the same flags for it.
package loadbalancers

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Annotations of a Service that several controllers read. Sources:
//
//	cloud-controller-manager      https://cloud-provider-aws.sigs.k8s.io/service_controller/
//	AWS Load Balancer Controller  https://kubernetes-sigs.github.io/aws-load-balancer-controller/latest/guide/service/annotations/
//	EKS Auto Mode                 https://docs.aws.amazon.com/eks/latest/userguide/auto-configure-nlb.html
//
// docs/install.md lists the controllers that read each of them.
const (
	// Type selects a network load balancer for the cloud-controller-manager. The values external and nlb-ip leave the
	// Service to the AWS Load Balancer Controller.
	Type = "service.beta.kubernetes.io/aws-load-balancer-type"
	// Internal is read by the cloud-controller-manager, which has internet-facing load balancers by default. The AWS Load
	// Balancer Controller reads it only if there is no Scheme.
	Internal = "service.beta.kubernetes.io/aws-load-balancer-internal"
	// Scheme is internal or internet-facing. It is read by the AWS Load Balancer Controller and EKS Auto Mode, which have
	// internal load balancers by default.
	Scheme = "service.beta.kubernetes.io/aws-load-balancer-scheme"
	// CrossZone is read by the cloud-controller-manager, and Attributes by the two others.
	CrossZone  = "service.beta.kubernetes.io/aws-load-balancer-cross-zone-load-balancing-enabled"
	Attributes = "service.beta.kubernetes.io/aws-load-balancer-attributes"
	// TargetNodeLabels restricts the nodes that are targets. All three read it.
	TargetNodeLabels = "service.beta.kubernetes.io/aws-load-balancer-target-node-labels"
	// Subnets are ids or names of subnets, separated by commas. All three read it. By default each looks for tagged subnets.
	Subnets = "service.beta.kubernetes.io/aws-load-balancer-subnets"
)

// Settings are an administrator's settings for all load balancers of an installation.
type Settings struct {
	// Class is the loadBalancerClass of new Services. The cloud-controller-manager ignores Services with a class.
	Class string
	// Annotations of all Services of type LoadBalancer.
	Annotations map[string]string
}

const (
	classFlag      = "load-balancer-class"
	annotationFlag = "load-balancer-annotation"
)

// Bind adds the flags.
func (s *Settings) Bind(fs *flag.FlagSet) {
	fs.Func(classFlag, "The loadBalancerClass of new Services of type LoadBalancer. Existing Services keep theirs: it is immutable.", func(text string) error {
		if problems := validation.IsQualifiedName(text); len(problems) > 0 {
			return fmt.Errorf("%q is not a loadBalancerClass: %s", text, strings.Join(problems, "; "))
		}
		s.Class = text
		return nil
	})
	fs.Func(annotationFlag, "An annotation of all Services of type LoadBalancer: key=value. Repeat the flag for several.", func(text string) error {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("%q is not an annotation: write key=value", text)
		}
		if err := checkKey(key); err != nil {
			return err
		}
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[key] = value
		return nil
	})
}

// checkKey refuses annotations that depend on the HostedCluster: with one value for all clusters, a private API would be
// public, or the other way round, or two clusters would have one host name.
func checkKey(key string) error {
	if problems := validation.IsQualifiedName(strings.ToLower(key)); len(problems) > 0 {
		return fmt.Errorf("%q is not the key of an annotation: %s", key, strings.Join(problems, "; "))
	}
	if slices.Contains([]string{Scheme, Internal}, key) || strings.HasPrefix(key, "hypershift.openshift.io/") || strings.Contains(key, "external-dns") {
		return fmt.Errorf("annotation %s cannot be set for all load balancers: it depends on the HostedCluster", key)
	}
	return nil
}

// Args returns the flags that Bind parses.
func (s Settings) Args() []string {
	var args []string
	if s.Class != "" {
		args = append(args, "--"+classFlag+"="+s.Class)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
		args = append(args, "--"+annotationFlag+"="+key+"="+s.Annotations[key])
	}
	return args
}
