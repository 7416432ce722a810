package clusterconditions

import (
	"slices"
	"testing"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func TestEventsReportEachChangeOnce(t *testing.T) {
	before := func(conditionType string, status metav1.ConditionStatus, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: "Before", Message: message}
	}
	versions := func(newest configv1.UpdateState, versions ...string) *hyperv1.ClusterVersionStatus {
		v := &hyperv1.ClusterVersionStatus{}
		for _, version := range versions {
			v.History = append(v.History, configv1.UpdateHistory{Version: version, Image: "release:" + version, State: configv1.CompletedUpdate})
		}
		v.History[0].State = newest
		return v
	}
	runs := func(previous, current *hyperv1.ClusterVersionStatus) func(*Facts) {
		return func(f *Facts) { f.PreviousVersion, f.HostedCluster.Status.Version = previous, current }
	}
	stalls := func(f *Facts) {
		f.override(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigurationReason, "spec.x: no")
	}
	access := func(status metav1.ConditionStatus) func(*Facts) {
		return func(f *Facts) {
			f.HostedCluster.Spec.Platform.AWS = &hyperv1.AWSPlatformSpec{EndpointAccess: hyperv1.Private}
			f.override(hyperv1.EndpointAccessUpToDate, status, "AsItIs", "machine a follows")
		}
	}
	available := before(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
	for name, c := range map[string]struct {
		before []metav1.Condition
		change func(*Facts)
		want   []events.Change
	}{
		"nothing has changed": {[]metav1.Condition{available}, func(*Facts) {}, nil},
		"a cluster serves":    {nil, func(*Facts) {}, []events.Change{{Type: "Normal", Reason: "Available", Message: reconcile.AllIsWell}}},
		"a cluster does not exist yet": {nil, func(f *Facts) {
			f.override(hyperv1.EtcdAvailable, metav1.ConditionFalse, hyperv1.EtcdWaitingForQuorumReason, "two pods are missing")
		}, nil},
		"a cluster serves no longer": {[]metav1.Condition{available}, func(f *Facts) {
			f.override(hyperv1.EtcdAvailable, metav1.ConditionFalse, hyperv1.EtcdWaitingForQuorumReason, "two pods are missing")
		}, []events.Change{{Type: "Warning", Reason: "NotAvailable", Message: "EtcdAvailable: two pods are missing"}}},
		"the spec is invalid":       {nil, stalls, []events.Change{{Type: "Warning", Reason: "Stalled", Message: "ValidConfiguration: spec.x: no"}}},
		"the spec is still invalid": {[]metav1.Condition{before(hyperv1.HostedClusterStalled, metav1.ConditionTrue, "ValidConfiguration: spec.x: no")}, stalls, nil},
		"the spec is invalid in another way": {
			[]metav1.Condition{before(hyperv1.HostedClusterStalled, metav1.ConditionTrue, "ValidConfiguration: spec.y: no")}, stalls,
			[]events.Change{{Type: "Warning", Reason: "Stalled", Message: "ValidConfiguration: spec.x: no"}},
		},
		"a pause": {[]metav1.Condition{available}, func(f *Facts) {
			f.Paused = true
			f.override(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, "remove it to go on")
		}, nil},
		"the first release": {[]metav1.Condition{available}, runs(nil, versions(configv1.PartialUpdate, "1.35.4")), nil},
		"the first release is complete": {
			[]metav1.Condition{available}, runs(versions(configv1.PartialUpdate, "1.35.4"), versions(configv1.CompletedUpdate, "1.35.4")), nil,
		},
		"an upgrade begins": {
			[]metav1.Condition{available}, runs(versions(configv1.CompletedUpdate, "1.35.4"), versions(configv1.PartialUpdate, "1.36.3", "1.35.4")),
			[]events.Change{{Type: "Normal", Reason: "UpgradeStarted", Message: "The upgrade from 1.35.4 to 1.36.3 has started"}},
		},
		"an upgrade goes on": {
			[]metav1.Condition{available}, runs(versions(configv1.PartialUpdate, "1.36.3", "1.35.4"), versions(configv1.PartialUpdate, "1.36.3", "1.35.4")), nil,
		},
		"an upgrade ends": {
			[]metav1.Condition{available}, runs(versions(configv1.PartialUpdate, "1.36.3", "1.35.4"), versions(configv1.CompletedUpdate, "1.36.3", "1.35.4")),
			[]events.Change{{Type: "Normal", Reason: "UpgradeCompleted", Message: "The upgrade to 1.36.3 is complete; node pools have releases of their own"}},
		},
		"machines follow a change of the access mode": {
			[]metav1.Condition{available, before(hyperv1.EndpointAccessUpToDate, metav1.ConditionTrue, "")}, access(metav1.ConditionFalse),
			[]events.Change{{Type: "Normal", Reason: "EndpointAccessChanging", Message: "The change to endpoint access Private has started: machine a follows"}},
		},
		"all machines have followed": {
			[]metav1.Condition{available, before(hyperv1.EndpointAccessUpToDate, metav1.ConditionFalse, "")}, access(metav1.ConditionTrue),
			[]events.Change{{Type: "Normal", Reason: "EndpointAccessChanged", Message: "All nodes use the addresses of endpoint access Private"}},
		},
		"a deletion": {[]metav1.Condition{available}, func(f *Facts) { f.HostedCluster.DeletionTimestamp = &metav1.Time{Time: noon} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Steps = reconcile.NewConditions(c.before, 0, noon)
			c.change(f)
			if got := f.Events(); !slices.Equal(got, c.want) {
				t.Errorf("events are %v, want %v", got, c.want)
			}
		})
	}
}
