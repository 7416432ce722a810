package requirements

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/internal/validation"
)

func TestConfiguration(t *testing.T) {
	for name, tc := range map[string]struct {
		pool    func(*hyperv1.NodePool)
		cluster func(*hyperv1.HostedCluster)
		missing bool // no HostedCluster at all
		want    string
	}{
		"a good pool": {},
		"a hop limit that is not 1 or 2": {
			pool: func(np *hyperv1.NodePool) {
				np.Annotations = map[string]string{hyperv1.MetadataHopLimitAnnotation: "64"}
			},
			want: `ValidationFailed: annotation hypershift.openshift.io/ec2-instance-metadata-hop-limit is "64": set it to 1 or 2, or remove it`,
		},
		"an unknown format of user data": {
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
		"a cluster of another platform": {
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
			pool: nodepooltest.Autoscaled(5, 3),
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
			np, hc := nodepooltest.NodePool(), nodepooltest.HostedCluster()
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

func tagged(prefix string, n int) func(*hyperv1.NodePool) {
	return func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.ResourceTags = nodepooltest.Tags(prefix, n) }
}

func clusterTagged(prefix string, n int) func(*hyperv1.HostedCluster) {
	return func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.ResourceTags = nodepooltest.Tags(prefix, n) }
}
