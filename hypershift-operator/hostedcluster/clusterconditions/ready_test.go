package clusterconditions

import (
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func TestReadyAndStalled(t *testing.T) {
	set := func(condition string, status metav1.ConditionStatus, reason, message string) func(*Facts) {
		return func(f *Facts) { f.override(condition, status, reason, message) }
	}
	for name, c := range map[string]struct {
		change  func(*Facts)
		ready   string
		stalled string // "" for absent
	}{
		"a healthy cluster is ready": {func(*Facts) {}, "True AsExpected: " + reconcile.AllIsWell, ""},
		"one that waits is not ready": {
			set(hyperv1.EtcdAvailable, metav1.ConditionFalse, hyperv1.EtcdWaitingForQuorumReason, "two pods are missing"),
			"False EtcdWaitingForQuorum: EtcdAvailable: two pods are missing", "",
		},
		"an upgrade is no readiness": {
			func(f *Facts) {
				f.HostedCluster.Status.Version = &hyperv1.ClusterVersionStatus{History: []configv1.UpdateHistory{{Version: "1.36.3", State: configv1.PartialUpdate}}}
			},
			"False Progressing: version 1.36.3 is being rolled out", "",
		},
		"objects of the release that cannot be applied are missing": {
			set(hyperv1.ClusterVersionAvailable, metav1.ConditionFalse, hyperv1.NameTakenReason, "ConfigOperatorReconciliationSucceeded: it is taken"),
			"False NameTaken: ClusterVersionAvailable: ConfigOperatorReconciliationSucceeded: it is taken", "",
		},
		"a cluster without tunnels to its nodes is available, and not ready": {
			set(hyperv1.DataPlaneConnectionAvailable, metav1.ConditionFalse, hyperv1.NoTunnelsReason, "no pod konnectivity-agent is ready"),
			"False NoTunnels: DataPlaneConnectionAvailable: no pod konnectivity-agent is ready", "",
		},
		"one that expects nodes is not ready before them": {
			func(f *Facts) {
				f.NodesExpected = true
				f.override(hyperv1.DataPlaneConnectionAvailable, metav1.ConditionUnknown, hyperv1.NoNodesReason, "the cluster has no nodes")
			},
			"False NoNodes: DataPlaneConnectionAvailable: the cluster has no nodes", "",
		},
		"one without node pools is ready without nodes": {
			set(hyperv1.DataPlaneConnectionAvailable, metav1.ConditionUnknown, hyperv1.NoNodesReason, "the cluster has no nodes"),
			"True AsExpected: " + reconcile.AllIsWell, "",
		},
		"an invalid spec stalls": {
			set(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigurationReason, "spec.x: no"),
			"False InvalidConfiguration: ValidConfiguration: spec.x: no", "True Blocked: ValidConfiguration: spec.x: no",
		},
		"a pause stalls": {
			set(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, `spec.pausedUntil is "true": remove it to go on`),
			`False Blocked: ReconciliationActive: spec.pausedUntil is "true": remove it to go on`,
			`True Blocked: ReconciliationActive: spec.pausedUntil is "true": remove it to go on`,
		},
		"a step that only the user can help stalls": {
			func(f *Facts) {
				f.Report = reconcile.Report{{Step: "credentials", Condition: hyperv1.PlatformCredentialsFound, Err: reconcile.Block(hyperv1.PlatformCredentialsNotFoundReason, "name the role")}}
				f.override(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.PlatformCredentialsNotFoundReason, "credentials: name the role")
			},
			"False PlatformCredentialsNotFound: ReconciliationSucceeded: credentials: name the role",
			"True PlatformCredentialsNotFound: PlatformCredentialsFound: name the role",
		},
		"a step that waits does not": {
			func(f *Facts) {
				f.Report = reconcile.Report{{Step: "namespace", Err: reconcile.Wait(0, hyperv1.NamespaceInUseReason, "soon")}}
				f.override(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.NamespaceInUseReason, "namespace: soon")
			},
			"False NamespaceInUse: ReconciliationSucceeded: namespace: soon", "",
		},
		"a deletion does not stall": {
			func(f *Facts) { f.HostedCluster.DeletionTimestamp = &metav1.Time{Time: noon} },
			"False Deleting: the cluster is being deleted", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			c.change(f)
			for condition, want := range map[string]string{hyperv1.HostedClusterReady: c.ready, hyperv1.HostedClusterStalled: c.stalled} {
				is, got := f.condition(condition), ""
				if is.Status != "" {
					got = string(is.Status) + " " + is.Reason + ": " + is.Message
				}
				if got != want {
					t.Errorf("%s is %q, want %q", condition, got, want)
				}
			}
		})
	}
}

func TestAnnotationsWithoutEffectAreListed(t *testing.T) {
	f := healthy()
	f.HostedCluster.Annotations = map[string]string{
		"hypershift.openshift.io/topology": "dedicated", hyperv1.RestartDateAnnotation: "today", hyperv1.ControlPlaneOperatorImageAnnotation: "example.com/operator",
	}
	const want = "accepted, and without effect in this version: annotation hypershift.openshift.io/topology, annotation hypershift.openshift.io/control-plane-operator-image" +
		" (the hypershift-operator was started without --allow-control-plane-operator-image-override)"
	if c := supportedFields(f); c.Status != metav1.ConditionFalse || c.Message != want {
		t.Errorf("SupportedFields is %s: %s", c.Status, c.Message)
	}
	f.HostedCluster.Annotations = map[string]string{hyperv1.RestartDateAnnotation: "today"}
	if c := supportedFields(f); c.Status != metav1.ConditionTrue {
		t.Errorf("SupportedFields is %s: %s", c.Status, c.Message)
	}
}
