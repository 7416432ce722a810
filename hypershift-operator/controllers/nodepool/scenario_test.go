package nodepool

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "github.com/openshift/api/config/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	infrav1 "sigs.k8s.io/cluster-api-provider-aws/v2/api/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/util/intstr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/hypershift-operator/nodepool/nodepooltest"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

// Everything that a user sees of a pool at rest.
func TestAPoolBecomesReadyAndThenWritesNothing(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.Settle()
	e.ExpectConditions(map[string]string{
		"ValidConfiguration": "True AsExpected", "SupportedFields": "True AsExpected", "UpdateManagementEnabled": "True AsExpected", "ValidReleaseImage": "True AsExpected",
		"SupportedVersionSkew": "True AsExpected", "ValidArchPlatform": "True AsExpected", "ValidPlatformImage": "True AsExpected",
		"ValidPlatformConfig": "True AsExpected", "AWSSecurityGroupAvailable": "True AsExpected", "ValidMachineConfig": "True AsExpected",
		"ValidTuningConfig": "True AsExpected", "ValidMachineTemplate": "True AsExpected", "ValidGeneratedPayload": "True AsExpected",
		"ReconciliationActive": "True AsExpected", "AutorepairEnabled": "True AsExpected", "ReachedIgnitionEndpoint": "True NodesJoined",
		"AllMachinesReady": "True AsExpected", "AllNodesHealthy": "True AsExpected", "Ready": "True AsExpected 2 nodes are available",
		"AutoscalingEnabled": "False ReplicasSet", "UpdatingVersion": "False AsExpected", "UpdatingConfig": "False AsExpected",
		"UpdatingPlatformMachineTemplate": "False AsExpected", "AWSResourceTagConflict": "False NoTagConflict",
		"ClusterNetworkCIDRConflict": "", "Deleting": "",
	})
	got := e.pool().Status
	got.Conditions = nil
	want := hyperv1.NodePoolStatus{
		Replicas: 2, ObservedGeneration: 2, Version: "1.36.3",
		Selector:  "cluster.x-k8s.io/cluster-name=" + nodepooltest.InfraID + ",cluster.x-k8s.io/deployment-name=workers,hypershift.openshift.io/nodePool=workers",
		NodesInfo: hyperv1.NodesInfo{NodeVersions: []hyperv1.NodeVersion{{OCPVersion: "1.36.3", KubeletVersion: "v1.36.3", ReadyNodeCount: 2}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// A condition names each wrong or missing input of the user, and no
// machine is made.
func TestAPoolWithoutRequirementsHasNoMachinesAndNamesTheCause(t *testing.T) {
	for name, tc := range map[string]struct {
		pool    func(*hyperv1.NodePool)
		cluster func(*hyperv1.HostedCluster)
		want    map[string]string
	}{
		"InPlace": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Management.UpgradeType = hyperv1.UpgradeTypeInPlace },
			want: map[string]string{"UpdateManagementEnabled": "False Reserved create a pool with Replace", "Ready": "False Reserved"},
		},
		"a release that is not there": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Release.Image = "example.test/release:nightly" },
			want: map[string]string{
				"ValidReleaseImage":    "False InvalidImage release image example.test/release:nightly does not exist",
				"SupportedVersionSkew": "Unknown WaitingFor waiting for release", "ValidPlatformImage": "Unknown WaitingFor waiting for release", "Ready": "False InvalidImage",
				"ValidMachineConfig": "True AsExpected",
			},
		},
		"nodes newer than the API server": {
			cluster: func(hc *hyperv1.HostedCluster) { hc.Spec.Release.Image = image135 },
			want:    map[string]string{"SupportedVersionSkew": "False UnsupportedSkew upgrade the HostedCluster first"},
		},
		"a region without an image": {
			cluster: func(hc *hyperv1.HostedCluster) { hc.Spec.Platform.AWS.Region = "eu-west-1" },
			want:    map[string]string{"ValidPlatformImage": "False ImageUnknown no machine image for arch amd64 in region eu-west-1: set platform.aws.ami"},
		},
		"an instance type that EC2 does not have": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.InstanceType = "m99.large" },
			want: map[string]string{"ValidPlatformConfig": "False UnknownInstanceType EC2 has no instance type m99.large in region us-east-1"},
		},
		"a processor that the type does not have": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.InstanceType = "m6g.large" },
			want: map[string]string{"ValidPlatformConfig": "False ArchMismatch machines of instance type m6g.large do not have arch amd64"},
		},
		"a processor that AWS does not have": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Arch = hyperv1.ArchitectureS390X },
			want: map[string]string{"ValidArchPlatform": "False ValidationFailed AWS has no machines of arch s390x"},
		},
		"no security group yet": {
			cluster: func(hc *hyperv1.HostedCluster) { hc.Status.Platform = nil },
			want:    map[string]string{"AWSSecurityGroupAvailable": "False DefaultSGNotReady", "Ready": "False DefaultSGNotReady AWSDefaultSecurityGroupCreated"},
		},
		"a ConfigMap that does not exist": {
			pool: func(np *hyperv1.NodePool) { np.Spec.Config = []hyperv1.NodePoolConfigMapReference{{Name: "kubelet"}} },
			want: map[string]string{"ValidMachineConfig": "False ConfigMapNotFound ConfigMap kubelet does not exist in namespace clusters: create it"},
		},
		"no namespace yet": {
			cluster: func(hc *hyperv1.HostedCluster) { hc.UID = "22222222-0000-4000-8000-000000000000" },
			want:    map[string]string{"ValidMachineTemplate": "Unknown WaitingFor", "Ready": "False WaitingFor waiting for namespace clusters-demo of HostedCluster demo"},
		},
		"maxSurge and maxUnavailable both 0": {
			pool: func(np *hyperv1.NodePool) {
				np.Spec.Management.Replace = &hyperv1.ReplaceUpgrade{RollingUpdate: &hyperv1.RollingUpdate{MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(0))}}
			},
			want: map[string]string{"ValidConfiguration": "False ValidationFailed", "Ready": "False ValidationFailed a rollout cannot move"},
		},
		"a pause that is no date": {
			pool: func(np *hyperv1.NodePool) { np.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("tomorrow")) },
			want: map[string]string{"ReconciliationActive": "False InvalidPausedUntilValue", "ValidConfiguration": "False InvalidPausedUntilValue", "Ready": "False InvalidPausedUntilValue"},
		},
		"an annotation that is no duration": {
			pool: func(np *hyperv1.NodePool) {
				np.Annotations = map[string]string{hyperv1.MachineHealthCheckTimeoutAnnotation: "soon"}
			},
			want: map[string]string{"AutorepairEnabled": "False ValidationFailed write a duration"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmptyFakeClusterAPI(t)
			np, hc := nodepooltest.NodePool(), nodepooltest.HostedCluster()
			if tc.pool != nil {
				tc.pool(np)
			}
			if tc.cluster != nil {
				tc.cluster(hc)
			}
			e.Create(hc, namespace(), controlPlane(), testenv.PullSecret(), np)
			e.Restart()
			e.SettleFailing()
			e.ExpectConditions(tc.want)
			if n := len(testenv.Listed(e.Env, &clusterv1.MachineDeploymentList{}).Items); n > 0 {
				t.Error("a MachineDeployment was made")
			}
		})
	}
}

func TestAnUnsupportedFieldIsNamed(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.changePool(func(np *hyperv1.NodePool) { np.Spec.OSImageStream = &hyperv1.OSImageStream{Name: "rhel-10"} })
	e.Restart()
	e.Settle()
	e.ExpectConditions(map[string]string{"SupportedFields": "False NotActedOn without effect in this version: osImageStream", "Ready": "True AsExpected"})
}

func TestAnotherInstanceTypeReplacesTheMachines(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.Settle()
	old := testenv.Listed(e.Env, &infrav1.AWSMachineTemplateList{}).Items[0].Name

	e.capi.refuse = "no capacity" // so that the roll-out takes its time
	e.types = instanceTypes{"c6i.large": {Name: "c6i.large", Architectures: []string{"amd64"}}}
	e.Restart()
	e.changePool(func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.InstanceType = "c6i.large" })
	e.Once()
	e.ExpectConditions(map[string]string{
		"UpdatingPlatformMachineTemplate": "True Updating 2 of 2 machines have another machine template than workers-",
		"UpdatingVersion":                 "False AsExpected",
	})
	e.capi.refuse = ""
	e.Settle()
	e.ExpectConditions(map[string]string{"UpdatingPlatformMachineTemplate": "False AsExpected", "Ready": "True AsExpected"})
	templates := testenv.Listed(e.Env, &infrav1.AWSMachineTemplateList{}).Items
	if len(templates) != 1 || templates[0].Name == old {
		t.Errorf("templates %v, want one and not %s", templates, old)
	}
	for _, m := range testenv.Listed(e.Env, &infrav1.AWSMachineList{}).Items {
		if m.Spec.InstanceType != "c6i.large" {
			t.Errorf("machine %s has instance type %s", m.Name, m.Spec.InstanceType)
		}
	}
}

func TestAnotherReleaseReplacesTheMachines(t *testing.T) {
	e := newEmptyFakeClusterAPI(t)
	np := nodepooltest.NodePool()
	np.Spec.Release.Image = image135
	e.Create(nodepooltest.HostedCluster(), namespace(), controlPlane(), testenv.PullSecret(), capiDeployment(), np)
	e.Restart()
	e.Settle()
	if v := e.pool().Status.Version; v != "1.35.4" {
		t.Fatalf("version %s, want 1.35.4", v)
	}
	e.changePool(func(np *hyperv1.NodePool) { np.Spec.Release.Image = image136 })
	e.Once()
	e.ExpectConditions(map[string]string{
		"UpdatingVersion": "True Updating 2 of 2 machines have another version than Kubernetes 1.36.3", "UpdatingConfig": "False AsExpected",
		"UpdatingPlatformMachineTemplate": "True Updating",
	})
	if v := e.pool().Status.Version; v != "1.35.4" {
		t.Errorf("version %s before the nodes run it", v)
	}
	e.Settle()
	e.ExpectConditions(map[string]string{"UpdatingVersion": "False AsExpected"})
	if v := e.pool().Status.Version; v != "1.36.3" {
		t.Errorf("version %s, want 1.36.3", v)
	}
	e.changePool(func(np *hyperv1.NodePool) { np.Spec.Release.Image = image135 })
	e.Settle()
	e.ExpectConditions(map[string]string{"SupportedVersionSkew": "False UnsupportedSkew would be a step back"})
}

func TestOnDeleteReplacesOnlyDeletedMachines(t *testing.T) {
	e := newEmptyFakeClusterAPI(t)
	np := nodepooltest.NodePool()
	np.Spec.Management = hyperv1.NodePoolManagement{UpgradeType: hyperv1.UpgradeTypeReplace, Replace: &hyperv1.ReplaceUpgrade{Strategy: hyperv1.UpgradeStrategyOnDelete}}
	e.Create(nodepooltest.HostedCluster(), namespace(), controlPlane(), testenv.PullSecret(), capiDeployment(), np)
	e.Restart()
	e.Settle()
	e.ExpectConditions(map[string]string{"AutorepairEnabled": "False AutoRepairOff"})
	e.changePool(func(np *hyperv1.NodePool) { np.Spec.Platform.AWS.RootVolume.Size = 200 })
	e.Settle()
	e.ExpectConditions(map[string]string{"UpdatingPlatformMachineTemplate": "True Updating each is replaced after the deletion of its Machine", "Ready": "True AsExpected"})
	if n := len(testenv.Listed(e.Env, &infrav1.AWSMachineTemplateList{}).Items); n != 2 {
		t.Errorf("%d templates, want the new one and the one of the old machines", n)
	}
	for _, m := range testenv.Listed(e.Env, &clusterv1.MachineList{}).Items {
		e.Delete(&m)
		e.Settle()
	}
	e.ExpectConditions(map[string]string{"UpdatingPlatformMachineTemplate": "False AsExpected", "Ready": "True AsExpected"})
	if n := len(testenv.Listed(e.Env, &infrav1.AWSMachineTemplateList{}).Items); n != 1 {
		t.Errorf("%d templates, want only the new one", n)
	}
}

func TestTagsAndGroupsChangeInPlace(t *testing.T) {
	e := newEmptyFakeClusterAPI(t)
	np, hc := nodepooltest.NodePool(), nodepooltest.HostedCluster()
	np.Spec.Platform.AWS.SecurityGroups = []hyperv1.AWSResourceReference{{ID: ptr.To("sg-mine")}}
	np.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "gone", Value: "soon"}}
	hc.Status.Platform = nil
	e.Create(hc, namespace(), controlPlane(), testenv.PullSecret(), capiDeployment(), np)
	e.Restart()
	e.Settle() // the pool brings its own group and does not wait for the cluster's
	before := machineNames(t, e)
	e.ExpectConditions(map[string]string{"AWSSecurityGroupAvailable": "True AsExpected", "Ready": "True AsExpected"})

	e.changePool(func(np *hyperv1.NodePool) {
		np.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "team", Value: "a"}}
	})
	testenv.Change(e.Env, nodepooltest.HostedCluster(), func(hc *hyperv1.HostedCluster) {
		hc.Spec.Platform.AWS.ResourceTags = []hyperv1.AWSResourceTag{{Key: "team", Value: "b"}}
	})
	live := nodepooltest.HostedCluster()
	e.Get(live)
	live.Status = nodepooltest.HostedCluster().Status
	e.UpdateStatus(live)
	e.Settle()
	e.ExpectConditions(map[string]string{"AWSResourceTagConflict": "True TagConflictDetected HostedCluster demo has other values for team"})
	if diff := cmp.Diff(before, machineNames(t, e)); diff != "" {
		t.Errorf("machines were replaced:\n%s", diff)
	}
	templates := testenv.Listed(e.Env, &infrav1.AWSMachineTemplateList{}).Items
	if len(templates) != 1 {
		t.Fatalf("%d templates, want 1", len(templates))
	}
	want := infrav1.Tags{"team": "b", "kubernetes.io/cluster/" + nodepooltest.InfraID: "owned"}
	groups := []infrav1.AWSResourceReference{{ID: ptr.To("sg-workers")}, {ID: ptr.To("sg-mine")}}
	specs := map[string]infrav1.AWSMachineSpec{"template": templates[0].Spec.Template.Spec}
	for _, m := range testenv.Listed(e.Env, &infrav1.AWSMachineList{}).Items {
		specs[m.Name] = m.Spec
	}
	for name, spec := range specs {
		if diff := cmp.Diff(want, spec.AdditionalTags); diff != "" {
			t.Errorf("tags of %s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(groups, spec.AdditionalSecurityGroups); diff != "" {
			t.Errorf("groups of %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnEditedTemplateIsReplaced(t *testing.T) {
	for name, edit := range map[string]func(*infrav1.AWSMachineSpec){
		"a field that we set":    func(spec *infrav1.AWSMachineSpec) { spec.InstanceType = "m6i.metal" },
		"a field that we do not": func(spec *infrav1.AWSMachineSpec) { spec.PublicIP = ptr.To(true) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeClusterAPI(t)
			e.Settle()
			want := testenv.Listed(e.Env, &infrav1.AWSMachineTemplateList{}).Items[0]
			testenv.Change(e.Env, want.DeepCopy(), func(e *infrav1.AWSMachineTemplate) { edit(&e.Spec.Template.Spec) })
			e.Settle()
			got := testenv.Listed(e.Env, &infrav1.AWSMachineTemplateList{}).Items
			if len(got) != 1 || got[0].Name != want.Name {
				t.Fatalf("templates %v, want %s only", got, want.Name)
			}
			if diff := cmp.Diff(want.Spec, got[0].Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestTheAutoscalerSetsTheReplicas(t *testing.T) {
	e := newEmptyFakeClusterAPI(t)
	np := nodepooltest.NodePool()
	nodepooltest.Autoscaled(1, 3)(np)
	e.releases.known[image136].Components = map[string]string{names.ClusterAutoscaler: "example.test/cluster-autoscaler"}
	e.Create(nodepooltest.HostedCluster(), namespace(), controlPlane(), testenv.PullSecret(), capiDeployment(), autoscaler(corev1.ConditionTrue), np)
	e.Restart()
	e.Settle()
	e.ExpectConditions(map[string]string{"AutoscalingEnabled": "True AsExpected the cluster autoscaler keeps 1 to 3 nodes", "Ready": "True AsExpected 1 nodes"})
	testenv.Change(e.Env, e.deployment(), func(md *clusterv1.MachineDeployment) { md.Spec.Replicas = ptr.To[int32](3) }) // the autoscaler
	e.Settle()
	e.ExpectConditions(map[string]string{"Ready": "True AsExpected 3 nodes"})

	e.changePool(func(np *hyperv1.NodePool) { np.Spec.AutoScaling.Max = 2 })
	e.Settle()
	e.ExpectConditions(map[string]string{"Ready": "True AsExpected 2 nodes"})

	e.changePool(func(np *hyperv1.NodePool) { np.Spec.AutoScaling, np.Spec.Replicas = nil, ptr.To[int32](1) })
	e.Settle()
	md := e.deployment()
	if _, bounded := md.Annotations[clusterv1.AutoscalerMaxSizeAnnotation]; bounded || *md.Spec.Replicas != 1 {
		t.Errorf("the autoscaler still has the pool: %v, %d replicas", md.Annotations, *md.Spec.Replicas)
	}
}

// autoscaler is the Deployment that the HostedCluster controller creates.
func autoscaler(available corev1.ConditionStatus) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.ClusterAutoscaler},
		Status:     appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: available}}},
	}
}

func TestAutoscalingIsEnabledOnlyWhileTheAutoscalerRuns(t *testing.T) {
	has := map[string]string{names.ClusterAutoscaler: "example.test/cluster-autoscaler"}
	for name, tc := range map[string]struct {
		images     map[string]string
		autoscaler *appsv1.Deployment
		cluster    func(*hyperv1.HostedCluster)
		want       string
	}{
		"it is available": {images: has, autoscaler: autoscaler(corev1.ConditionTrue), want: "True AsExpected the cluster autoscaler keeps 1 to 3 nodes"},
		"its pod is not available": {
			images: has, autoscaler: autoscaler(corev1.ConditionFalse),
			want: "False AutoscalerNotAvailable waiting for Deployment cluster-autoscaler in namespace clusters-demo: until it is available, the pool keeps the number of its nodes within 1 and 3",
		},
		"it does not exist yet": {images: has, want: "False AutoscalerNotAvailable waiting for Deployment cluster-autoscaler"},
		"the release has no image": {
			want: "False AutoscalerMissing release 1.36.3 of the HostedCluster has no image cluster-autoscaler, so that the pool keeps the number of its nodes within 1 and 3: choose a release that has it, or set spec.replicas",
		},
		"the user has disabled it": {
			images: has, autoscaler: autoscaler(corev1.ConditionTrue),
			cluster: func(hc *hyperv1.HostedCluster) {
				hc.Annotations = map[string]string{hyperv1.DisableClusterAutoscalerAnnotation: "true"}
			},
			want: "False AutoscalerDisabled HostedCluster demo has annotation",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEmptyFakeClusterAPI(t)
			e.releases.known[image136].Components = tc.images
			np, hc := nodepooltest.NodePool(), nodepooltest.HostedCluster()
			nodepooltest.Autoscaled(1, 3)(np)
			if tc.cluster != nil {
				tc.cluster(hc)
			}
			e.Create(hc, namespace(), controlPlane(), testenv.PullSecret(), capiDeployment(), np)
			if tc.autoscaler != nil {
				e.Create(tc.autoscaler)
			}
			e.Restart()
			e.Settle()
			e.ExpectConditions(map[string]string{"AutoscalingEnabled": tc.want, "Ready": "True AsExpected 1 nodes"})
		})
	}
}

func TestAPauseStopsClusterAPIAndTheAutoscaler(t *testing.T) {
	e := newEmptyFakeClusterAPI(t)
	np := nodepooltest.NodePool()
	nodepooltest.Autoscaled(2, 3)(np)
	e.Create(nodepooltest.HostedCluster(), namespace(), controlPlane(), testenv.PullSecret(), capiDeployment(), np)
	e.Restart()
	e.Settle()
	e.changePool(func(np *hyperv1.NodePool) {
		np.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		np.Spec.Platform.AWS.RootVolume.Size = 200
	})
	e.Settle()
	e.ExpectConditions(map[string]string{"ReconciliationActive": "False ReconciliationPaused", "AutorepairEnabled": "False ReconciliationPaused", "AutoscalingEnabled": "False ReconciliationPaused"})
	md := e.deployment()
	mhc := testenv.Listed(e.Env, &clusterv1.MachineHealthCheckList{}).Items[0]
	if md.Annotations[clusterv1.PausedAnnotation] == "" || mhc.Annotations[clusterv1.PausedAnnotation] == "" || md.Annotations[clusterv1.AutoscalerMaxSizeAnnotation] != "" {
		t.Errorf("not paused: MachineDeployment %v, MachineHealthCheck %v", md.Annotations, mhc.Annotations)
	}
	if n := len(testenv.Listed(e.Env, &infrav1.AWSMachineTemplateList{}).Items); n != 1 {
		t.Errorf("%d templates while paused", n)
	}
	e.changePool(func(np *hyperv1.NodePool) { np.Spec.PausedUntil = nil })
	e.Settle()
	e.ExpectConditions(map[string]string{"ReconciliationActive": "True AsExpected", "AutorepairEnabled": "True AsExpected", "Ready": "True AsExpected", "UpdatingPlatformMachineTemplate": "False AsExpected"})
	md = e.deployment()
	if md.Annotations[clusterv1.PausedAnnotation] != "" || md.Annotations[clusterv1.AutoscalerMaxSizeAnnotation] != "3" {
		t.Errorf("still paused: %v", md.Annotations)
	}
}

func TestAnErrorOfEC2IsShownInTheConditions(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.capi.refuse = "failed to create AWSMachine instance: operation error EC2: RunInstances, https response error StatusCode: 400, RequestID: 5d4e6f70-1111, api error InsufficientInstanceCapacity: We currently do not have sufficient m6i.large capacity in the Availability Zone you requested (us-east-1a)."
	e.Restart()
	e.Settle()
	const message = "2 of 2 (workers-"
	e.ExpectConditions(map[string]string{
		"AllMachinesReady":        "False InsufficientInstanceCapacity " + message,
		"Ready":                   "False InsufficientInstanceCapacity 0 of 2 nodes are available: " + message,
		"AllNodesHealthy":         "False NodesNotHealthy no node yet",
		"ReachedIgnitionEndpoint": "False ignitionNotReached",
	})
	if c := e.Condition("Ready"); strings.Contains(c.Message, "RequestID") {
		t.Errorf("a message that differs each time: %s", c.Message)
	}
}

func TestAnUnreachableRegistryIsReportedAsUnknown(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.releases.down = true
	e.Restart()
	e.SettleFailing()
	e.ExpectConditions(map[string]string{
		"ValidReleaseImage": "Unknown InvalidImage no answer in time", "ValidPlatformImage": "Unknown WaitingFor", "Ready": "False InvalidImage no answer in time",
	})
	e.releases.down = false
	e.Restart()
	e.Settle()
	e.releases.down = true
	e.Restart()
	e.SettleFailing() // the release is not known any more, and the pool stays ready
	e.ExpectConditions(map[string]string{"ValidReleaseImage": "True AsExpected", "SupportedVersionSkew": "True AsExpected", "Ready": "True AsExpected 2 nodes"})
}

func TestAManagementClusterWithoutClusterAPIIsUnsupported(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.missing = "Machine.cluster.x-k8s.io"
	e.Restart()
	e.Settle()
	e.ExpectConditions(map[string]string{"ValidConfiguration": "False UnsupportedCluster no kind Machine.cluster.x-k8s.io", "Ready": "False UnsupportedCluster"})
	testenv.Change(e.Env, nodepooltest.NodePool(), func(np *hyperv1.NodePool) { np.Finalizers = []string{hyperv1.HostedClusterFinalizer} })
	e.Delete(nodepooltest.NodePool())
	e.Settle()
	if err := e.Admin().Get(t.Context(), key, &hyperv1.NodePool{}); !apierrors.IsNotFound(err) {
		t.Errorf("the pool is still there: %v", err)
	}
}

func TestConflictingAddressesAreReported(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.Settle()
	m := testenv.Listed(e.Env, &clusterv1.MachineList{}).Items[0]
	m.Status.Addresses = clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: "172.31.4.4"}}
	e.UpdateStatus(&m)
	e.Settle()
	e.ExpectConditions(map[string]string{"ClusterNetworkCIDRConflict": "True NetworkConflict addresses out of network 172.31.0.0/16 of the cluster: " + m.Name})
}

func TestAnotherConfigurationReplacesTheMachines(t *testing.T) {
	e := newEmptyFakeClusterAPI(t)
	np := nodepooltest.NodePool()
	np.Spec.Config = []hyperv1.NodePoolConfigMapReference{{Name: "kubelet"}}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "kubelet"},
		Data:       map[string]string{"config": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: many\n"},
	}
	e.Create(nodepooltest.HostedCluster(), namespace(), controlPlane(), testenv.PullSecret(), capiDeployment(), np, cm)
	e.Restart()
	e.Settle()
	e.ExpectConditions(map[string]string{"ValidMachineConfig": "False InvalidConfigMap ConfigMap kubelet: KubeletConfiguration: "})
	testenv.Change(e.Env, cm, func(cm *corev1.ConfigMap) {
		cm.Data["config"] = strings.ReplaceAll(cm.Data["config"], "many", "100")
	})
	e.Settle()
	e.ExpectConditions(map[string]string{"ValidMachineConfig": "True AsExpected", "Ready": "True AsExpected"})
	before := machineNames(t, e)
	testenv.Change(e.Env, cm, func(cm *corev1.ConfigMap) {
		cm.Data["config"] = strings.ReplaceAll(cm.Data["config"], "100", "200")
	})
	e.Once()
	e.ExpectConditions(map[string]string{"UpdatingConfig": "True Updating 2 of 2 machines have another configuration", "UpdatingVersion": "False AsExpected"})
	e.Settle()
	e.ExpectConditions(map[string]string{"UpdatingConfig": "False AsExpected", "Ready": "True AsExpected"})
	if cmp.Equal(before, machineNames(t, e)) {
		t.Error("the machines are the same as before")
	}
	secrets := &corev1.SecretList{}
	if err := e.Admin().List(t.Context(), secrets, client.InNamespace(plane)); err != nil || len(secrets.Items) != 1 {
		t.Errorf("%d configurations (%v), want only the last", len(secrets.Items), err)
	}
}

func TestAnotherProxyReplacesTheMachines(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.Settle()
	before := machineNames(t, e)
	testenv.Change(e.Env, controlPlane(), func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Configuration = &hyperv1.ClusterConfiguration{Proxy: &configv1.ProxySpec{HTTPProxy: "http://proxy.example.com:3128"}}
	})
	e.Once()
	e.ExpectConditions(map[string]string{
		"UpdatingConfig":  "True Updating 2 of 2 machines have another configuration",
		"UpdatingVersion": "False AsExpected", "UpdatingPlatformMachineTemplate": "False AsExpected",
	})
	e.Settle()
	e.ExpectConditions(map[string]string{"UpdatingConfig": "False AsExpected", "Ready": "True AsExpected"})
	for _, name := range machineNames(t, e) {
		if slices.Contains(before, name) {
			t.Errorf("machine %s is still there", name)
		}
	}
}

func TestAnotherTrustBundleReplacesTheMachines(t *testing.T) {
	e := newFakeClusterAPI(t)
	e.Settle()
	testenv.Change(e.Env, controlPlane(), func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.AdditionalTrustBundle = &corev1.LocalObjectReference{Name: names.UserCABundle}
	})
	e.Settle()
	e.ExpectConditions(map[string]string{"Ready": "False WaitingFor waiting for the copy user-ca-bundle of a ConfigMap that HostedCluster demo names"})
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: names.UserCABundle, Annotations: map[string]string{hyperv1.CopiedFromAnnotation: "mine"}}, Data: map[string]string{"ca-bundle.crt": "bundle\n"}}
	e.Create(bundle)
	e.Settle()
	e.ExpectConditions(map[string]string{"Ready": "True AsExpected"})
	before := machineNames(t, e)
	testenv.Change(e.Env, bundle, func(cm *corev1.ConfigMap) { cm.Annotations[hyperv1.CopiedFromAnnotation] = "another" })
	e.Settle()
	e.ExpectConditions(map[string]string{"UpdatingConfig": "False AsExpected", "Ready": "True AsExpected"})
	for _, name := range machineNames(t, e) {
		if slices.Contains(before, name) {
			t.Errorf("machine %s is still there", name)
		}
	}
}

func TestAPoolWaitsForItsControlPlane(t *testing.T) {
	e := newEmptyFakeClusterAPI(t)
	e.Create(nodepooltest.HostedCluster(), namespace(), testenv.PullSecret(), capiDeployment(), nodepooltest.NodePool())
	e.Restart()
	e.Settle()
	e.ExpectConditions(map[string]string{"Ready": "False WaitingFor waiting for the control plane of HostedCluster demo"})
	e.Create(controlPlane())
	e.Settle()
	e.ExpectConditions(map[string]string{"Ready": "True AsExpected"})
}

func TestADeletedPoolWaitsForItsMachines(t *testing.T) {
	gone := func(t *testing.T, e *fakeClusterAPI) {
		t.Helper()
		if err := e.Admin().Get(t.Context(), key, &hyperv1.NodePool{}); !apierrors.IsNotFound(err) {
			t.Errorf("the pool is still there (%v): %s", err, e.Condition("Deleting").Message)
		}
		if text, err := e.Snapshot(t.Context()); err != nil || text != "" {
			t.Errorf("left behind (%v):\n%s", err, text)
		}
	}
	remove := func(t *testing.T, e *fakeClusterAPI, obj client.Object) {
		t.Helper()
		e.Delete(obj)
	}
	t.Run("the condition Deleting names the machines that still exist", func(t *testing.T) {
		e := newFakeClusterAPI(t)
		e.Settle()
		e.capi.stuck = true
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		e.ExpectConditions(map[string]string{"Deleting": "True MachinesGo machines still exist: 2 of 2 (workers-", "Ready": "False Deleting"})
		if len(testenv.Listed(e.Env, &infrav1.AWSMachineTemplateList{}).Items) == 0 {
			t.Error("templates went before the machines")
		}
		e.capi.stuck = false
		e.Settle()
		gone(t, e)
	})
	t.Run("a paused pool is deleted", func(t *testing.T) {
		e := newFakeClusterAPI(t)
		e.Settle()
		e.changePool(func(np *hyperv1.NodePool) { np.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
		e.Settle()
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		gone(t, e)
	})
	t.Run("a pool without its HostedCluster keeps its machines until it is deleted", func(t *testing.T) {
		e := newFakeClusterAPI(t)
		e.Settle()
		remove(t, e, nodepooltest.HostedCluster())
		e.Settle()
		e.ExpectConditions(map[string]string{"ValidConfiguration": "False NotFound"})
		if n := len(testenv.Listed(e.Env, &clusterv1.MachineList{}).Items); n != 2 {
			t.Errorf("%d machines, want 2: nobody asked them to go", n)
		}
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		gone(t, e)
	})
	t.Run("a pool is deleted with its HostedCluster", func(t *testing.T) {
		e := newFakeClusterAPI(t)
		e.Settle()
		testenv.Change(e.Env, nodepooltest.HostedCluster(), func(hc *hyperv1.HostedCluster) { hc.Finalizers = []string{hyperv1.HostedClusterFinalizer} })
		remove(t, e, nodepooltest.HostedCluster())
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		gone(t, e)
	})
	t.Run("a pool that never had a HostedCluster is deleted", func(t *testing.T) {
		e := newEmptyFakeClusterAPI(t)
		e.Create(nodepooltest.NodePool())
		e.Restart()
		e.Settle()
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		gone(t, e)
	})
	t.Run("a pool is deleted although Cluster API never ran", func(t *testing.T) {
		e := newEmptyFakeClusterAPI(t)
		e.capi.away = true
		e.Create(nodepooltest.HostedCluster(), namespace(), controlPlane(), testenv.PullSecret(), nodepooltest.NodePool())
		e.Restart()
		e.Settle()
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		gone(t, e)
	})
	t.Run("a pool without machines is deleted although Cluster API stopped", func(t *testing.T) {
		e := newEmptyFakeClusterAPI(t)
		np := nodepooltest.NodePool()
		np.Spec.Replicas = ptr.To[int32](0)
		e.Create(nodepooltest.HostedCluster(), namespace(), controlPlane(), testenv.PullSecret(), np)
		e.Restart()
		e.Settle()
		e.capi.away = true
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		gone(t, e)
	})
	t.Run("machines keep their finalizers if Cluster API was removed", func(t *testing.T) {
		e := newFakeClusterAPI(t)
		e.Settle()
		e.capi.away = true
		remove(t, e, capiDeployment())
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		e.ExpectConditions(map[string]string{"Deleting": "True MachinesGo machines still exist"})
		for _, m := range testenv.Listed(e.Env, &clusterv1.MachineList{}).Items {
			if len(m.Finalizers) == 0 {
				t.Errorf("machine %s was given up although its instance may run", m.Name)
			}
		}
	})
	t.Run("objects of another cluster's pool with the same name stay", func(t *testing.T) {
		e := newEmptyFakeClusterAPI(t)
		e.capi.away = true
		other := namespace()
		other.Annotations[hyperv1.HostedClusterAnnotation] = "clusters-demo/" // namespace "clusters", cluster "demo" want it too
		theirs := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "workers", Labels: client.MatchingLabels{hyperv1.NodePoolLabel: nodepooltest.NodePool().Name}, Annotations: map[string]string{hyperv1.NodePoolAnnotation: "others/workers"}}}
		machine := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "workers-1", Labels: client.MatchingLabels{hyperv1.NodePoolLabel: nodepooltest.NodePool().Name}}}
		e.Create(nodepooltest.HostedCluster(), other, testenv.PullSecret(), nodepooltest.NodePool(), theirs, machine)
		e.Restart()
		e.Settle()
		e.ExpectConditions(map[string]string{"Ready": "False WaitingFor waiting for namespace"})
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		if err := e.Admin().Get(t.Context(), key, &hyperv1.NodePool{}); !apierrors.IsNotFound(err) {
			t.Errorf("the pool is still there: %v", err)
		}
		if n := len(testenv.Listed(e.Env, &clusterv1.MachineList{}).Items) + len(testenv.Listed(e.Env, &clusterv1.MachineDeploymentList{}).Items); n != 2 {
			t.Errorf("%d of the other cluster's objects are left, want 2", n)
		}
	})
	t.Run("a deletion waits for an AWSMachine without a Machine", func(t *testing.T) {
		e := newFakeClusterAPI(t)
		e.Settle()
		lonely := &infrav1.AWSMachine{ObjectMeta: metav1.ObjectMeta{Namespace: plane, Name: "lonely", Labels: client.MatchingLabels{hyperv1.NodePoolLabel: nodepooltest.NodePool().Name}, Finalizers: []string{awsMachineFinalizer}}}
		e.Create(lonely)
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		e.ExpectConditions(map[string]string{"Deleting": "True MachinesGo 1 of 1 (lonely): an AWSMachine without Machine"})
		if err := e.Admin().Get(t.Context(), client.ObjectKeyFromObject(lonely), lonely); err != nil || lonely.DeletionTimestamp.IsZero() {
			t.Errorf("the AWSMachine is not being deleted (%v)", err)
		}
	})
	t.Run("machines without an owner are deleted", func(t *testing.T) {
		e := newFakeClusterAPI(t)
		e.Settle()
		for _, obj := range []client.Object{e.deployment(), &testenv.Listed(e.Env, &clusterv1.MachineSetList{}).Items[0]} {
			obj.SetFinalizers(nil)
			e.Update(obj)
			remove(t, e, obj)
		}
		remove(t, e, nodepooltest.NodePool())
		e.Settle()
		gone(t, e)
	})
}

func machineNames(t testing.TB, e *fakeClusterAPI) (out []string) {
	t.Helper()
	for _, m := range testenv.Listed(e.Env, &clusterv1.MachineList{}).Items {
		out = append(out, m.Name)
	}
	return out
}
