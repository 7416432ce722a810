package clustermanifests

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/aws/infra"
)

func TestDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		existing, desired func(*Cluster)
		want              []string
	}{
		"the same flags": {},
		"ids that only AWS knows": {existing: func(c *Cluster) {
			c.Infra.VPCID, c.Infra.Zones[0].SubnetID = "vpc-1", "subnet-1"
			c.IAM.Roles.StorageARN = "arn:aws:iam::111111111111:role/demo-x-storage"
		}},
		"another way to write the same quantity": {desired: func(c *Cluster) { c.EtcdStorageSize = "8192Mi" }},
		"what only the existing cluster has":     {existing: func(c *Cluster) { c.SSHPublicKey, c.Annotations = []byte("ssh"), map[string]string{"a": "b"} }},
		"another availability": {
			desired: func(c *Cluster) { c.ControlPlaneAvailability = hyperv1.SingleReplica },
			want:    []string{`HostedCluster demo: spec.controllerAvailabilityPolicy is "HighlyAvailable", not "SingleReplica"`},
		},
		"an annotation": {
			desired: func(c *Cluster) { c.Annotations = map[string]string{"a": "b"} },
			want:    []string{`HostedCluster demo: metadata.annotations.a is not set, not "b"`},
		},
		"more nodes": {
			desired: func(c *Cluster) { c.Pool.Replicas = 3 },
			want:    []string{`NodePool demo-us-east-1a: spec.replicas is 1, not 3`},
		},
		"another pull secret": {
			desired: func(c *Cluster) { c.PullSecret = []byte(`{"auths":{"example.com":{"auth":"c2VjcmV0"}}}`) },
			want:    []string{`Secret demo-pull-secret: data..dockerconfigjson has another value`},
		},
		"a list of another length": {
			desired: func(c *Cluster) { c.ServiceCIDRs = append(c.ServiceCIDRs, "fd00::/108") },
			want:    []string{`HostedCluster demo: spec.networking.serviceNetwork is [{"cidr":"172.31.0.0/16"}], not [{"cidr":"172.31.0.0/16"},{"cidr":"fd00::/108"}]`},
		},
		"another zone": {
			desired: func(c *Cluster) {
				c.Infra.Zones = append(c.Infra.Zones, infra.OutputZone{Name: "us-east-1b", SubnetID: exampleSubnet})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			existing, desired := valid(), valid()
			for _, change := range []struct {
				of   *Cluster
				with func(*Cluster)
			}{{&existing, c.existing}, {&desired, c.desired}} {
				change.of.Infra.Zones = slices.Clone(change.of.Infra.Zones)
				if change.with != nil {
					change.with(change.of)
				}
			}
			var got []string
			for _, e := range existing.Objects() {
				for _, d := range desired.Objects() {
					if key(e) != key(d) {
						continue
					}
					found, err := Differences(e, d)
					if err != nil {
						t.Fatal(err)
					}
					for _, difference := range found {
						got = append(got, key(d)+": "+difference)
					}
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("differences are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

func key(obj client.Object) string {
	return obj.GetObjectKind().GroupVersionKind().Kind + " " + obj.GetName()
}

// The API server stores quantities in their canonical form, and adds defaults.
func TestDifferencesIgnoreWhatTheAPIServerAdds(t *testing.T) {
	existing, desired := valid().HostedCluster(), valid().HostedCluster()
	size := resource.MustParse("8Gi")
	existing.Spec.Etcd.Managed.Storage.PersistentVolume.Size = &size
	existing.Spec.ClusterID = "00000000-0000-0000-0000-000000000001"
	existing.Status.PayloadArch = hyperv1.AMD64
	existing.ResourceVersion, existing.Finalizers = "7", []string{hyperv1.HostedClusterFinalizer}
	found, err := Differences(existing, desired)
	if err != nil || len(found) > 0 {
		t.Errorf("differences are %v, error is %v", found, err)
	}
	// A user may have created the Secret, with labels and a type of its own.
	secret := &corev1.Secret{Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(EmptyPullSecret)}}
	if found, err := Differences(secret, valid().contents()[0]); err != nil || len(found) > 0 {
		t.Errorf("differences are %v, error is %v", found, err)
	}
	if found, err := Differences(&corev1.Namespace{}, valid().namespace()); err != nil || len(found) > 0 {
		t.Errorf("differences are %v, error is %v", found, err)
	}
}

func TestChosenHasWhatAWSChooses(t *testing.T) {
	draft := Cluster{Namespace: "clusters", Name: "demo"}
	draft.Infra = infra.Output{VPCID: exampleVPC, Zones: []infra.OutputZone{{Name: "us-east-1a", SubnetID: exampleSubnet}}, SecurityGroupID: exampleGroup}
	made := draft
	made.Infra = infra.Output{VPCID: "vpc-1", Zones: []infra.OutputZone{{Name: "us-east-1a", SubnetID: "subnet-1"}}, SecurityGroupID: "sg-1"}
	for i, want := range map[int][]string{0: {"subnet-1", "vpc-1"}, 1: {"sg-1", "subnet-1"}} {
		objects := func(c Cluster) client.Object { return []client.Object{c.HostedCluster(), c.NodePools()[0]}[i] }
		got, err := Chosen(objects(draft), objects(made))
		if values := slices.Sorted(maps.Values(got)); err != nil || !slices.Equal(values, want) {
			t.Errorf("got %v, %v; want the values %v", got, err, want)
		}
	}
}
