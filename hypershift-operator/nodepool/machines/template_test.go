package machines

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/objects"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
)

// newSpec returns the inputs of a pool's objects, after all requirements have been met.
func newSpec(change func(*hyperv1.NodePool)) *Spec {
	s := &Spec{
		Pool:    &objects.Pool{NodePool: nodepooltest.NodePool(), HostedCluster: nodepooltest.HostedCluster(), Namespace: nodepooltest.Namespace},
		Release: nodepooltest.Release("1.36.3", "ami-136"), AMI: "ami-136", SecurityGroup: "sg-workers",
		InstanceType: &instancetypes.Type{Name: "m6i.large", Architectures: []string{"amd64"}, VCPUs: 2, MemoryMiB: 8192},
		Current:      objects.Current{Template: "workers-t", Bootstrap: "workers-b"},
	}
	if change != nil {
		change(s.NodePool)
	}
	s.Health, _ = HealthOf(s.NodePool, s.HostedCluster)
	return s
}

// The names of templates as the first version of this operator made them. If one
// of them changes, the upgrade to the next version replaces the machines of
// everybody: then the code is wrong, and not this table.
func TestMachineTemplatesHaveTheSameNamesInEveryVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*hyperv1.NodePool)
		want   string
	}{
		"a simple pool":               {nil, "4c16ab6f24e64098d162"},
		"a pool that uses everything": {nodepooltest.UseAll, "b944aceb7ee876c11e1f"},
		"a pool with a reservation": {func(np *hyperv1.NodePool) {
			np.Spec.Platform.AWS.Placement = &hyperv1.PlacementOptions{CapacityReservation: &hyperv1.CapacityReservationOptions{ID: ptr.To("cr-0123456789abcdef0")}}
		}, "be5cca98aad1a203c879"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := templateHash(newSpec(tc.change))
			if err != nil || got != tc.want {
				t.Errorf("%s (%v), want %s", got, err, tc.want)
			}
		})
	}
}

func TestHopLimit(t *testing.T) {
	for asked, want := range map[string]int64{"": 1, "2": 2, "64": 64, "many": 1} {
		got, err := desiredTemplate(newSpec(func(np *hyperv1.NodePool) {
			np.Annotations = map[string]string{hyperv1.MetadataHopLimitAnnotation: asked}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if limit := got.Spec.Template.Spec.InstanceMetadataOptions.HTTPPutResponseHopLimit; limit != want {
			t.Errorf("annotation %q: hop limit %d, want %d", asked, limit, want)
		}
	}
}

func TestOnlyFieldsOfTheMachineReplaceMachines(t *testing.T) {
	before, err := templateHash(newSpec(nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*Spec)
		rolls  bool
	}{
		"another instance type": {func(s *Spec) { s.AWS().InstanceType = "m6i.xlarge" }, true},
		"another image":         {func(s *Spec) { s.AMI = "ami-137" }, true},
		"another subnet":        {func(s *Spec) { s.AWS().Subnet.ID = ptr.To("subnet-0b") }, true},
		"a bigger disk":         {func(s *Spec) { s.AWS().RootVolume.Size = 121 }, true},
		"a security group":      {func(s *Spec) { s.AWS().SecurityGroups = []hyperv1.AWSResourceReference{{ID: ptr.To("sg-1")}} }, true},
		"a profile":             {func(s *Spec) { s.AWS().InstanceProfile = "mine" }, true},
		"spot":                  {func(s *Spec) { s.AWS().Placement = &hyperv1.PlacementOptions{MarketType: hyperv1.MarketTypeSpot} }, true},
		"public addresses": {func(s *Spec) {
			s.HostedCluster.Annotations = map[string]string{hyperv1.AWSMachinePublicIPsAnnotation: "true"}
		}, true},
		"a hop limit":              {func(s *Spec) { s.NodePool.Annotations = map[string]string{hyperv1.MetadataHopLimitAnnotation: "2"} }, true},
		"another user data format": {func(s *Spec) { s.UserDataFormat = hyperv1.UserDataFormatCloudConfig }, true},
		"the default format, said": {func(s *Spec) { s.UserDataFormat = hyperv1.UserDataFormatIgnition }, false},
		"the default profile":      {func(s *Spec) { s.AWS().InstanceProfile = nodepooltest.InfraID + "-worker" }, false},
		"the same image, said":     {func(s *Spec) { s.AWS().AMI = s.AMI }, false},
		"the default disk, said":   {func(s *Spec) { s.AWS().RootVolume.Type = "" }, false},
		"a tag":                    {func(s *Spec) { s.AWS().ResourceTags = nodepooltest.Tags("pool", 1) }, false},
		"a tag of the cluster":     {func(s *Spec) { s.HostedCluster.Spec.Platform.AWS.ResourceTags = nodepooltest.Tags("cluster", 1) }, false},
		"the cluster's group":      {func(s *Spec) { s.SecurityGroup = "sg-other" }, false},
		"the number of nodes":      {func(s *Spec) { s.NodePool.Spec.Replicas = ptr.To[int32](9) }, false},
		"labels, taints, timeouts": {func(s *Spec) {
			nodepooltest.UseAll(s.NodePool)
			s.NodePool.Spec.Platform = nodepooltest.NodePool().Spec.Platform
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSpec(nil)
			tc.change(s)
			after, err := templateHash(s)
			if err != nil {
				t.Fatal(err)
			}
			if (after != before) != tc.rolls {
				t.Errorf("replaces machines: %v, want %v", after != before, tc.rolls)
			}
		})
	}
}

func TestPlacementDefinesTheMarket(t *testing.T) {
	id := ptr.To("cr-0123456789abcdef0")
	for name, tc := range map[string]struct {
		placement *hyperv1.PlacementOptions
		want      infrav1.AWSMachineSpec
	}{
		"nothing said": {nil, infrav1.AWSMachineSpec{}},
		"spot at any price": {
			&hyperv1.PlacementOptions{MarketType: hyperv1.MarketTypeSpot},
			infrav1.AWSMachineSpec{MarketType: infrav1.MarketTypeSpot, SpotMarketOptions: &infrav1.SpotMarketOptions{}},
		},
		"spot up to a price": {
			&hyperv1.PlacementOptions{MarketType: hyperv1.MarketTypeSpot, Spot: &hyperv1.SpotOptions{MaxPrice: "0.25"}},
			infrav1.AWSMachineSpec{MarketType: infrav1.MarketTypeSpot, SpotMarketOptions: &infrav1.SpotMarketOptions{MaxPrice: ptr.To("0.25")}},
		},
		"a reservation by id is a capacity block": {
			&hyperv1.PlacementOptions{CapacityReservation: &hyperv1.CapacityReservationOptions{ID: id}},
			infrav1.AWSMachineSpec{MarketType: infrav1.MarketTypeCapacityBlock, CapacityReservationID: id},
		},
		"an on-demand reservation says so": {
			&hyperv1.PlacementOptions{MarketType: hyperv1.MarketTypeOnDemand, CapacityReservation: &hyperv1.CapacityReservationOptions{ID: id, Preference: hyperv1.CapacityReservationPreferenceOnly}},
			infrav1.AWSMachineSpec{MarketType: infrav1.MarketTypeOnDemand, CapacityReservationID: id, CapacityReservationPreference: infrav1.CapacityReservationPreferenceOnly},
		},
		"the old field for the market": {
			&hyperv1.PlacementOptions{CapacityReservation: &hyperv1.CapacityReservationOptions{ID: id, MarketType: hyperv1.MarketTypeOnDemand}}, //nolint:staticcheck // deprecated, and in use where somebody still sets it
			infrav1.AWSMachineSpec{MarketType: infrav1.MarketTypeOnDemand, CapacityReservationID: id},
		},
		"a dedicated host": {
			&hyperv1.PlacementOptions{Tenancy: "host"},
			infrav1.AWSMachineSpec{Tenancy: "host", MarketType: infrav1.MarketTypeOnDemand},
		},
		"open reservations only": {
			&hyperv1.PlacementOptions{Tenancy: "dedicated", CapacityReservation: &hyperv1.CapacityReservationOptions{Preference: hyperv1.CapacityReservationPreferenceOpen}},
			infrav1.AWSMachineSpec{Tenancy: "dedicated", MarketType: infrav1.MarketTypeOnDemand, CapacityReservationPreference: infrav1.CapacityReservationPreferenceOpen},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got infrav1.AWSMachineSpec
			applyPlacement(&got, tc.placement)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDesiredMachine(t *testing.T) {
	got := desiredMachine(newSpec(nodepooltest.UseAll))
	want := infrav1.AWSMachineSpec{
		InstanceType:             "m6i.large",
		AMI:                      infrav1.AMIReference{ID: ptr.To("ami-136")},
		IAMInstanceProfile:       "mine",
		Subnet:                   &infrav1.AWSResourceReference{Filters: []infrav1.Filter{{Name: "tag:Name", Values: []string{"private"}}}},
		AdditionalSecurityGroups: []infrav1.AWSResourceReference{{ID: ptr.To("sg-workers")}, {ID: ptr.To("sg-1")}, {Filters: []infrav1.Filter{{Name: "tag:Name", Values: []string{"db"}}}}},
		AdditionalTags:           infrav1.Tags{"pool-00": "x", "pool-01": "x", "kubernetes.io/cluster/" + nodepooltest.InfraID: "owned", "aws-node-termination-handler/managed": "true"},
		RootVolume:               &infrav1.Volume{Size: 200, Type: infrav1.VolumeTypeGP3, IOPS: 4000, Throughput: ptr.To[int64](300), Encrypted: ptr.To(true), EncryptionKey: "alias/mine"},
		SSHKeyName:               ptr.To(""),
		UncompressedUserData:     ptr.To(true),
		Ignition:                 &infrav1.Ignition{Version: "3.4", StorageType: infrav1.IgnitionStorageTypeOptionUnencryptedUserData},
		InstanceMetadataOptions: &infrav1.InstanceMetadataOptions{
			HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPTokens: "required", HTTPPutResponseHopLimit: 1, InstanceMetadataTags: "disabled",
		},
		HostAffinity:      ptr.To("default"),
		Tenancy:           "default",
		MarketType:        infrav1.MarketTypeSpot,
		SpotMarketOptions: &infrav1.SpotMarketOptions{MaxPrice: ptr.To("0.25")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAutoscalerAnnotations(t *testing.T) {
	s := newSpec(nodepooltest.UseAll)
	s.InstanceType.GPUs, s.InstanceType.GPUMaker = 8, "nvidia"
	s.UserData.Pool.Kubelet = map[string]any{"maxPods": int64(200)}
	want := map[string]string{
		clusterv1.AutoscalerMinSizeAnnotation: "0",
		clusterv1.AutoscalerMaxSizeAnnotation: "5",
		capacityPrefix + "cpu":                "2",
		capacityPrefix + "memory":             "8192Mi",
		capacityPrefix + "gpu-count":          "8",
		capacityPrefix + "gpu-type":           "nvidia.com/gpu",
		capacityPrefix + "ephemeral-disk":     "200Gi",
		capacityPrefix + "maxPods":            "200",
		capacityPrefix + "labels": "cluster.x-k8s.io/cluster-name=demo-x7k2p,cluster.x-k8s.io/deployment-name=workers,hypershift.openshift.io/nodePool=workers," +
			"kubernetes.io/arch=amd64,kubernetes.io/os=linux,node.kubernetes.io/instance-type=m6i.large,team=a",
		capacityPrefix + "taints": "bare=:NoExecute,gpu=yes:NoSchedule",
	}
	if diff := cmp.Diff(want, autoscalerAnnotations(s)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := autoscalerAnnotations(newSpec(nil)); got != nil {
		t.Errorf("%v on a pool that does not scale itself", got)
	}
}

func TestDesiredReplicas(t *testing.T) {
	for name, tc := range map[string]struct {
		pool func(*hyperv1.NodePool)
		have *int32
		want int32
	}{
		"what the user says":                    {func(*hyperv1.NodePool) {}, ptr.To[int32](7), 2},
		"nothing said is none":                  {func(np *hyperv1.NodePool) { np.Spec.Replicas = nil }, ptr.To[int32](7), 0},
		"the autoscaler has not spoken":         {nodepooltest.Autoscaled(3, 5), nil, 3},
		"the autoscaler spoke":                  {nodepooltest.Autoscaled(0, 5), ptr.To[int32](4), 4},
		"the autoscaler spoke before the bound": {nodepooltest.Autoscaled(0, 5), ptr.To[int32](9), 5},
		"there are fewer than the least":        {nodepooltest.Autoscaled(3, 5), ptr.To[int32](1), 3},
	} {
		t.Run(name, func(t *testing.T) {
			np := nodepooltest.NodePool()
			tc.pool(np)
			if got := DesiredReplicas(np, tc.have); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}
