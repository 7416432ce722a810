package machines

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

func TestHealthOf(t *testing.T) {
	standard := Health{Timeout: 8 * time.Minute, Startup: 20 * time.Minute, MaxUnhealthy: intstr.FromInt32(2)}
	with := func(change func(*Health)) Health {
		h := standard
		change(&h)
		return h
	}
	for name, tc := range map[string]struct {
		pool, cluster map[string]string
		spot          bool
		want          Health
		refused       string
	}{
		"nothing said": {want: standard},
		"the cluster speaks for all its pools": {
			cluster: map[string]string{hyperv1.MachineHealthCheckTimeoutAnnotation: "3m"},
			want:    with(func(h *Health) { h.Timeout = 3 * time.Minute }),
		},
		"the pool has the last word": {
			cluster: map[string]string{hyperv1.MachineHealthCheckNodeStartupTimeoutAnnotation: "3m"},
			pool:    map[string]string{hyperv1.MachineHealthCheckNodeStartupTimeoutAnnotation: "1h"},
			want:    with(func(h *Health) { h.Startup = time.Hour }),
		},
		"a percentage": {
			pool: map[string]string{hyperv1.MachineHealthCheckMaxUnhealthyAnnotation: "40%"},
			want: with(func(h *Health) { h.MaxUnhealthy = intstr.FromString("40%") }),
		},
		"spot machines may all go at once": {spot: true, want: with(func(h *Health) { h.MaxUnhealthy = intstr.FromString("100%") })},
		"words": {
			pool:    map[string]string{hyperv1.MachineHealthCheckMaxUnhealthyAnnotation: "few", hyperv1.MachineHealthCheckTimeoutAnnotation: "soon"},
			want:    with(func(h *Health) { h.MaxUnhealthy = intstr.FromString("few") }),
			refused: `annotation hypershift.openshift.io/machine-health-check-max-unhealthy is "few": write a number or a percentage such as 40%; annotation hypershift.openshift.io/machine-health-check-timeout is "soon": write a duration such as 10m`,
		},
		"more seconds than the field has": {
			pool:    map[string]string{hyperv1.MachineHealthCheckTimeoutAnnotation: "600000h"},
			want:    standard,
			refused: `annotation hypershift.openshift.io/machine-health-check-timeout is "600000h": write a duration such as 10m`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			np, hc := nodepooltest.NodePool(), nodepooltest.HostedCluster()
			np.Annotations, hc.Annotations = tc.pool, tc.cluster
			if tc.spot {
				np.Spec.Platform.AWS.Placement = &hyperv1.PlacementOptions{MarketType: hyperv1.MarketTypeSpot}
			}
			got, errs := HealthOf(np, hc)
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if got := validation.Message(errs); got != tc.refused {
				t.Errorf("got %q, want %q", got, tc.refused)
			}
		})
	}
}
