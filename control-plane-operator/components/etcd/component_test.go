package etcd

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fixture/etcdserver"
)

func TestGolden(t *testing.T) {
	targettest.Golden(t, Component,
		targettest.Single,
		targettest.HighlyAvailable,
		targettest.Case{Name: "formed", Adapt: up},
		targettest.Case{Name: "volume", Adapt: func(env *target.ControlPlane) { setStorage(env, "20Gi", "fast") }},
		targettest.Case{Name: "scheduling", Adapt: func(env *target.ControlPlane) {
			setStorage(env, "20Gi", "fast")
			env.HCP.Spec.Etcd.Managed.Scheduling = &hyperv1.EtcdSchedulingSpec{
				NodeSelector: map[string]hyperv1.LabelValue{"example.com/disks": "fast"},
				Tolerations:  []corev1.Toleration{{Key: "example.com/disks", Operator: corev1.TolerationOpExists}},
			}
		}},
		targettest.Case{Name: "restore-single", Adapt: restoring},
		targettest.Case{Name: "restore-highly-available", Adapt: func(env *target.ControlPlane) {
			targettest.HighlyAvailable.Adapt(env)
			restoring(env)
			targettest.Trusting(env)
		}},
		targettest.Case{Name: "restored-in-place-highly-available", Adapt: func(env *target.ControlPlane) {
			targettest.HighlyAvailable.Adapt(env)
			up(env)
			env.HCP.Status.EtcdRestore = "restore-2"
			env.ConfigMaps[ConfigMap] = &corev1.ConfigMap{Data: map[string]string{formedKey: "false", restoreKey: "restore-2"}}
		}},
		targettest.Case{Name: "restore-in-place-single", Adapt: restoringInPlace},
		targettest.Case{Name: "restore-in-place-highly-available", Adapt: func(env *target.ControlPlane) {
			targettest.HighlyAvailable.Adapt(env)
			restoringInPlace(env)
		}},
	)
}

func setStorage(env *target.ControlPlane, size, class string) {
	env.HCP.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{
		Type:             hyperv1.PersistentVolumeEtcdStorage,
		PersistentVolume: &hyperv1.PersistentVolumeEtcdStorageSpec{Size: ptr.To(resource.MustParse(size)), StorageClassName: &class},
	}}
}

func restoring(env *target.ControlPlane) {
	env.HCP.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{
		Type:               hyperv1.PersistentVolumeEtcdStorage,
		RestoreSnapshotURL: []hyperv1.SnapshotURL{"https://backups.example.com/demo.db"},
	}}
}

func TestSnapshotIsUsedForTheFirstStartOnly(t *testing.T) {
	env := targettest.Env()
	restoring(env)
	if !needsMemberContainer(env) {
		t.Fatal("a member that begins with a snapshot has nothing that puts it in place")
	}
	up(env)
	if restores(env) {
		t.Error("a cluster that has been up would be set back to its first snapshot")
	}
}

// restoringInPlace is a cluster that was up, and stopped to begin with a backup.
func restoringInPlace(env *target.ControlPlane) {
	down(env)
	env.HCP.Status.EtcdRestore = "restore-2"
	env.ConfigMaps[ConfigMap] = &corev1.ConfigMap{Data: map[string]string{formedKey: "true", restoreKey: "restore-1"}}
}

// The order of a restore in place, as the ConfigMap records it.
func TestFormedOfARestoreInPlace(t *testing.T) {
	env := targettest.Env()
	restoringInPlace(env)
	env.HCP.Annotations = map[string]string{hyperv1.SleepPhaseAnnotation: string(hyperv1.SleepPhaseAsleep)}
	data := func() map[string]string {
		cm := &corev1.ConfigMap{Data: map[string]string{}}
		if err := adaptConfig(env, cm); err != nil {
			t.Fatal(err)
		}
		env.ConfigMaps[ConfigMap] = cm
		return cm.Data
	}
	for _, step := range []struct {
		name   string
		do     func()
		formed string
	}{
		{"the restore is recorded", func() {}, "false"},
		{"the report of etcd is older than the stop", func() { env.Available = []string{names.Etcd} }, "false"},
		{"the control plane starts", func() { env.HCP.Annotations, env.Available = nil, nil }, "false"},
		{"etcd is available", func() { env.Available = []string{names.Etcd} }, "true"},
		{"etcd is lost later", func() { env.Available = nil }, "true"},
	} {
		step.do()
		if got := data(); got[formedKey] != step.formed || got[restoreKey] != "restore-2" {
			t.Errorf("%s: %v", step.name, got)
		}
		if restores(env) != (step.formed == "false") {
			t.Errorf("%s: restores: %t", step.name, restores(env))
		}
	}
}

// up is a cluster that has been up and is available.
func up(env *target.ControlPlane) {
	env.HCP.Status.Initialization = &hyperv1.HostedControlPlaneInitialization{ControlPlaneInitialized: ptr.To(true)}
	env.Available = []string{names.Etcd}
	reported(env, metav1.ConditionTrue, hyperv1.EtcdQuorumAvailableReason)
}

func reported(env *target.ControlPlane, status metav1.ConditionStatus, reason string) {
	meta.SetStatusCondition(&env.HCP.Status.Conditions, metav1.Condition{Type: hyperv1.EtcdAvailable, Status: status, Reason: reason})
}

// down is a cluster that has been up and is not available.
func down(env *target.ControlPlane) {
	up(env)
	env.Available = nil
}

// failing is a cluster that has been up. Its etcd is not available any more, and the status of the component is older than that.
func failing(env *target.ControlPlane) {
	up(env)
	reported(env, metav1.ConditionFalse, hyperv1.EtcdDataMissingReason)
}

// silent is the same after its pod was deleted: neither the API server nor a pod of etcd reports anything.
func silent(env *target.ControlPlane) {
	up(env)
	reported(env, metav1.ConditionUnknown, hyperv1.StatusUnknownReason)
}

func TestFormedRecordsTheFirstStart(t *testing.T) {
	for name, c := range map[string]struct {
		is   func(*target.ControlPlane)
		says string
		want bool
	}{
		"a new cluster":                                {func(*target.ControlPlane) {}, "", false},
		"one that has not been up yet":                 {func(*target.ControlPlane) {}, "false", false},
		"its etcd is up for the first time":            {up, "false", true},
		"its etcd is lost":                             {down, "true", true},
		"what was lost is given up":                    {down, "false", false},
		"what was lost a moment ago is given up":       {failing, "false", false},
		"its pod is being replaced":                    {silent, "false", false},
		"what was given up has begun again":            {up, "false", true},
		"somebody deletes the ConfigMap while it runs": {up, "", true},
		"somebody deletes the ConfigMap of a lost one": {down, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			env := targettest.Env()
			c.is(env)
			if c.says != "" {
				env.ConfigMaps[ConfigMap] = &corev1.ConfigMap{Data: map[string]string{formedKey: c.says}}
			}
			if got := formed(env); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// etcd exits with a known message.
func TestSingleMemberWithoutDataDoesNotStartANewCluster(t *testing.T) {
	env := targettest.Env()
	down(env)
	m := etcdserver.New(t, "etcd-0")
	m.Start("etcd-0="+m.PeerURL, string(stateOf(env)))
	if reason, _ := explain(m.LastWords()); reason != hyperv1.EtcdDataMissingReason {
		t.Errorf("what it says is not known: %s", m.LastWords())
	}
}

func TestUnmanagedEtcdHasNoComponent(t *testing.T) {
	env := targettest.Env()
	env.HCP.Spec.Etcd.ManagementType = hyperv1.Unmanaged
	if Component.Wanted(env) {
		t.Error("there is a second etcd")
	}
}
