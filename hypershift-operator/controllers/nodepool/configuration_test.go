package nodepool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		pool    func(*hyperv1.NodePool)
		cluster func(*hyperv1.HostedCluster)
		missing bool // no HostedCluster at all
		want    string
	}{
		"a good pool": {},
		"a hop limit that is none": {
			pool: func(np *hyperv1.NodePool) {
				np.Annotations = map[string]string{hyperv1.MetadataHopLimitAnnotation: "64"}
			},
			want: `ValidationFailed: annotation hypershift.openshift.io/ec2-instance-metadata-hop-limit is "64": set it to 1 or 2, or remove it`,
		},
		"a format of user data that nothing reads": {
			pool: func(np *hyperv1.NodePool) {
				np.Annotations = map[string]string{hyperv1.UserDataFormatAnnotation: "kickstart"}
				np.Spec.Platform.AWS.AMI = "ami-mine"
			},
			want: `ValidationFailed: annotation hypershift.openshift.io/user-data-format is "kickstart": set it to ignition or cloud-config, or remove it`,
		},
		"the format of an image that the release names": {
			pool: func(np *hyperv1.NodePool) {
				np.Annotations = map[string]string{hyperv1.UserDataFormatAnnotation: "cloud-config"}
				np.Spec.Platform.AWS.AMI = ""
			},
			want: `ValidationFailed: annotation hypershift.openshift.io/user-data-format describes the image in platform.aws.ami, which is not set`,
		},
		"a value that cannot be read": {
			pool: func(np *hyperv1.NodePool) {
				if err := json.Unmarshal([]byte(`{"spec":{"clusterName":"demo","replicas":"two"}}`), np); err != nil {
					panic(err)
				}
			},
			want: "Unreadable: the object has values that cannot be read; write these fields again: spec.replicas",
		},
		"no HostedCluster": {missing: true, want: `NotFound: HostedCluster "demo", which spec.clusterName names, does not exist in namespace clusters`},
		"a HostedCluster that is being deleted": {
			cluster: func(hc *hyperv1.HostedCluster) { hc.DeletionTimestamp = &metav1.Time{Time: time.Now()} },
			want:    "Deleting: HostedCluster demo is being deleted",
		},
		"a platform without machines": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Platform.Type = hyperv1.NonePlatform },
			want: "ValidationFailed: platform.type is None",
		},
		"type AWS without its block": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Platform.AWS = nil },
			want: "PlatformConfigMissing: platform.type is AWS and platform.aws is missing",
		},
		"a cluster elsewhere": {
			cluster: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform = hyperv1.PlatformSpec{Type: hyperv1.NonePlatform} },
			want:    "ValidationFailed: HostedCluster demo is not on AWS",
		},
		"a rollout that cannot move": {
			pool: rolling(intstr.FromInt32(0), intstr.FromString("0%")),
			want: "maxSurge and maxUnavailable both zero",
		},
		"a rollout by percentages": {pool: rolling(intstr.FromString("0%"), intstr.FromString("25%"))},
		"a rollout by words": {
			pool: rolling(intstr.FromString("many"), intstr.FromInt32(-1)),
			want: `management.replace.rollingUpdate.maxSurge is "many": write a number of 0 or more, or a percentage such as 25%; management.replace.rollingUpdate.maxUnavailable is "-1"`,
		},
		"a pause that is no date": {
			pool: func(np *hyperv1.NodePool) { np.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("2030-01-31T12:00")) },
			want: `InvalidPausedUntilValue: spec.pausedUntil is "2030-01-31T12:00", which is neither`,
		},
		"a negative number of nodes": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Replicas = ptr.To[int32](-1) },
			want: "replicas is -1",
		},
		"two ways to say how many nodes": {
			pool: func(np *hyperv1.NodePool) {
				np.Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Min: ptr.To[int32](1), Max: 3}
			},
			want: "replicas and autoScaling exclude each other",
		},
		"bounds that cross": {
			pool: autoscaled(5, 3),
			want: "autoScaling needs a min of 0 or more, and a max",
		},
		"a label by which machines are selected": {
			pool: func(np *hyperv1.NodePool) {
				np.Spec.NodeLabels = map[string]hyperv1.LabelValue{"cluster.x-k8s.io/cluster-name": "mine", "node.cluster.x-k8s.io/pool": "fine"}
			},
			want: `nodeLabels has "cluster.x-k8s.io/cluster-name", by which machines are selected`,
		},
		"no subnet": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.Subnet = hyperv1.AWSResourceReference{} },
			want: "platform.aws.subnet needs an id or filters",
		},
		"a security group both ways": {
			pool: func(np *hyperv1.NodePool) {
				np.Spec.Platform.AWS.SecurityGroups = []hyperv1.AWSResourceReference{{ID: ptr.To("sg-1"), Filters: []hyperv1.Filter{{Name: "tag:a", Values: []string{"b"}}}}}
			},
			want: "each of platform.aws.securityGroups needs an id or filters",
		},
		"a tag that is not free": {
			pool: func(np *hyperv1.NodePool) {
				np.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "kubernetes.io/cluster/other", Value: "owned"}}
			},
			want: `platform.aws.resourceTags has the key "kubernetes.io/cluster/other", and keys that begin with kubernetes.io/cluster/ are not free`,
		},
		"25 tags":                         {pool: tagged("pool", 25)},
		"25 tags here and the same there": {pool: tagged("both", 25), cluster: clusterTagged("both", 25)},
		"25 tags here and 25 there": {
			pool: tagged("pool", 25), cluster: clusterTagged("cluster", 25),
			want: "the instances would have 55 tags (50 of HostedCluster and pool together, the rest of ours), and EC2 takes 50: remove 5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			np, hc := pool(), cluster()
			if tc.pool != nil {
				tc.pool(np)
			}
			if tc.cluster != nil {
				tc.cluster(hc)
			}
			if tc.missing {
				hc = nil
			}
			var details []string
			for _, err := range validation.NodePool(np, hc, defaultsOf(np)) {
				details = append(details, err.Detail)
				if len(details) == 1 {
					details[0] = err.Origin + ": " + err.Detail
				}
			}
			got := strings.Join(details, "; ")
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("said %q, want %q", got, tc.want)
			}
		})
	}
}

func rolling(surge, unavailable intstr.IntOrString) func(*hyperv1.NodePool) {
	return func(np *hyperv1.NodePool) {
		np.Spec.Management.Replace = &hyperv1.ReplaceUpgrade{RollingUpdate: &hyperv1.RollingUpdate{MaxSurge: &surge, MaxUnavailable: &unavailable}}
	}
}

func autoscaled(least, most int32) func(*hyperv1.NodePool) {
	return func(np *hyperv1.NodePool) {
		np.Spec.Replicas, np.Spec.AutoScaling = nil, &hyperv1.NodePoolAutoScaling{Min: &least, Max: most}
	}
}

func tags(prefix string, n int) (out []hyperv1.AWSResourceTag) {
	for i := range n {
		out = append(out, hyperv1.AWSResourceTag{Key: fmt.Sprintf("%s-%02d", prefix, i), Value: "x"})
	}
	return out
}

func tagged(prefix string, n int) func(*hyperv1.NodePool) {
	return func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.ResourceTags = tags(prefix, n) }
}

func clusterTagged(prefix string, n int) func(*hyperv1.HostedCluster) {
	return func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.ResourceTags = tags(prefix, n) }
}

func TestMergeTags(t *testing.T) {
	allowed := hyperv1.AWSResourceTag{Key: "team", Value: "a", OverridePolicy: hyperv1.TagOverrideAllow}
	denied := hyperv1.AWSResourceTag{Key: "cost", Value: "a"}
	for name, tc := range map[string]struct {
		cluster, pool []hyperv1.AWSResourceTag
		want          map[string]string
		lost          []string
	}{
		"the pool adds":                     {[]hyperv1.AWSResourceTag{denied}, []hyperv1.AWSResourceTag{{Key: "new", Value: "b"}}, map[string]string{"cost": "a", "new": "b"}, nil},
		"the pool decides where it may":     {[]hyperv1.AWSResourceTag{allowed}, []hyperv1.AWSResourceTag{{Key: "team", Value: "b"}}, map[string]string{"team": "b"}, nil},
		"the pool loses where it may not":   {[]hyperv1.AWSResourceTag{denied}, []hyperv1.AWSResourceTag{{Key: "cost", Value: "b"}}, map[string]string{"cost": "a"}, []string{"cost"}},
		"who says the same does not lose":   {[]hyperv1.AWSResourceTag{denied}, []hyperv1.AWSResourceTag{{Key: "cost", Value: "a"}}, map[string]string{"cost": "a"}, nil},
		"a pool of a cluster without tags":  {nil, []hyperv1.AWSResourceTag{{Key: "new", Value: "b"}}, map[string]string{"new": "b"}, nil},
		"a cluster with a pool without any": {[]hyperv1.AWSResourceTag{denied}, nil, map[string]string{"cost": "a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, lost := mergeTags(tc.cluster, tc.pool)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.lost, lost); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckSkew(t *testing.T) {
	for name, tc := range map[string]struct{ want, control, have, says string }{
		"the same":                          {"1.36.3", "1.36.3", "", ""},
		"three minors older":                {"1.33.9", "1.36.3", "", ""},
		"four minors older":                 {"1.32.1", "1.36.3", "", "nodes may be 3 minor versions older at most"},
		"a patch newer":                     {"1.36.4", "1.36.3", "", "nodes must not be newer"},
		"a minor newer":                     {"1.37.0", "1.36.3", "", "nodes must not be newer"},
		"a step back to an older minor":     {"1.35.4", "1.36.3", "1.36.1", "would be a step back"},
		"a step back to an older patch":     {"1.36.1", "1.36.3", "1.36.3", ""},
		"a step forward":                    {"1.36.3", "1.36.3", "1.34.0", ""},
		"a version that nobody understands": {"new", "1.36.3", "", "cannot be compared"},
	} {
		t.Run(name, func(t *testing.T) {
			got := validation.Message(checkSkew(tc.want, tc.control, tc.have))
			if tc.says == "" && got != "" || !strings.Contains(got, tc.says) {
				t.Errorf("said %q, want %q", got, tc.says)
			}
		})
	}
}

func TestHealthOf(t *testing.T) {
	standard := health{timeout: 8 * time.Minute, startup: 20 * time.Minute, maxUnhealthy: intstr.FromInt32(2)}
	with := func(change func(*health)) health {
		h := standard
		change(&h)
		return h
	}
	for name, tc := range map[string]struct {
		pool, cluster map[string]string
		spot          bool
		want          health
		says          string
	}{
		"nothing said": {want: standard},
		"the cluster speaks for all its pools": {
			cluster: map[string]string{hyperv1.MachineHealthCheckTimeoutAnnotation: "3m"},
			want:    with(func(h *health) { h.timeout = 3 * time.Minute }),
		},
		"the pool has the last word": {
			cluster: map[string]string{hyperv1.MachineHealthCheckNodeStartupTimeoutAnnotation: "3m"},
			pool:    map[string]string{hyperv1.MachineHealthCheckNodeStartupTimeoutAnnotation: "1h"},
			want:    with(func(h *health) { h.startup = time.Hour }),
		},
		"a percentage": {
			pool: map[string]string{hyperv1.MachineHealthCheckMaxUnhealthyAnnotation: "40%"},
			want: with(func(h *health) { h.maxUnhealthy = intstr.FromString("40%") }),
		},
		"spot machines may all go at once": {spot: true, want: with(func(h *health) { h.maxUnhealthy = intstr.FromString("100%") })},
		"words": {
			pool: map[string]string{hyperv1.MachineHealthCheckMaxUnhealthyAnnotation: "few", hyperv1.MachineHealthCheckTimeoutAnnotation: "soon"},
			want: with(func(h *health) { h.maxUnhealthy = intstr.FromString("few") }),
			says: `annotation hypershift.openshift.io/machine-health-check-max-unhealthy is "few": write a number or a percentage such as 40%; annotation hypershift.openshift.io/machine-health-check-timeout is "soon": write a duration such as 10m`,
		},
		"more seconds than the field has": {
			pool: map[string]string{hyperv1.MachineHealthCheckTimeoutAnnotation: "600000h"},
			want: standard,
			says: `annotation hypershift.openshift.io/machine-health-check-timeout is "600000h": write a duration such as 10m`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			np, hc := pool(), cluster()
			np.Annotations, hc.Annotations = tc.pool, tc.cluster
			if tc.spot {
				np.Spec.Platform.AWS.Placement = &hyperv1.PlacementOptions{MarketType: hyperv1.MarketTypeSpot}
			}
			got, errs := healthOf(np, hc)
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if got := validation.Message(errs); got != tc.says {
				t.Errorf("said %q, want %q", got, tc.says)
			}
		})
	}
}

func zeroOf() intstr.IntOrString { return intstr.FromInt32(0) }
