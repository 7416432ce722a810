package controlplanestatus

import (
	"maps"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
)

func TestConditionsAboutTheVersion(t *testing.T) {
	type statuses = map[string]string
	good := statuses{
		hyperv1.ValidReleaseInfo: "True AsExpected", hyperv1.HostedControlPlaneDegraded: "False AsExpected", hyperv1.KubeAPIServerAvailable: "True AsExpected",
		hyperv1.EtcdAvailable: "True AsExpected", hyperv1.ConfigOperatorReconciliationSucceeded: "True AsExpected",
	}
	but := func(condition, status string) statuses {
		out := maps.Clone(good)
		if out[condition] = status; status == "" {
			delete(out, condition)
		}
		return out
	}
	complete := []configv1.UpdateHistory{{Version: "1.35.4", State: configv1.CompletedUpdate}}
	upgrade := append([]configv1.UpdateHistory{{Version: "1.36.3", State: configv1.PartialUpdate}}, complete...)
	for name, c := range map[string]struct {
		reported                                     statuses
		history                                      []configv1.UpdateHistory
		accepted, progressing, succeeding, available string
	}{
		"nothing is known before the first report": {nil, nil, "", "", "", ""},
		"a release that runs":                      {good, complete, "True AsExpected", "False AsExpected", "True AsExpected", "True AsExpected"},
		"an upgrade":                               {good, upgrade, "True AsExpected", "True Progressing", "True AsExpected", "True AsExpected"},
		"the first roll-out":                       {but(hyperv1.ConfigOperatorReconciliationSucceeded, "False WaitingForKubeAPIServer"), upgrade[:1], "True AsExpected", "True Progressing", "True AsExpected", "False Progressing"},
		"a release that cannot be read":            {but(hyperv1.ValidReleaseInfo, "False MissingReleaseImages"), complete, "False MissingReleaseImages", "False AsExpected", "False MissingReleaseImages", "True AsExpected"},
		"a registry that does not answer":          {but(hyperv1.ValidReleaseInfo, "Unknown RegistryUnreachable"), complete, "Unknown RegistryUnreachable", "False AsExpected", "Unknown RegistryUnreachable", "True AsExpected"},
		"a component that fails":                   {but(hyperv1.HostedControlPlaneDegraded, "True ContainerCrashed"), upgrade, "True AsExpected", "True Progressing", "False ContainerCrashed", "True AsExpected"},
		"objects that cannot be applied":           {but(hyperv1.ConfigOperatorReconciliationSucceeded, "False NameTaken"), complete, "True AsExpected", "False AsExpected", "False NameTaken", "False NameTaken"},
		"an API server that is gone":               {but(hyperv1.KubeAPIServerAvailable, "False WaitingForAvailable"), complete, "True AsExpected", "False AsExpected", "True AsExpected", "False WaitingForAvailable"},
		"etcd that is not known":                   {but(hyperv1.EtcdAvailable, ""), complete, "True AsExpected", "False AsExpected", "True AsExpected", "Unknown StatusUnknown"},
	} {
		t.Run(name, func(t *testing.T) {
			hcp := &hyperv1.HostedControlPlane{}
			if c.history != nil {
				hcp.Status.VersionStatus = &hyperv1.ClusterVersionStatus{ObservedGeneration: 7, History: c.history}
			}
			var before []metav1.Condition
			for condition, is := range c.reported {
				status, reason, _ := strings.Cut(is, " ")
				before = append(before, metav1.Condition{Type: condition, Status: metav1.ConditionStatus(status), Reason: reason})
			}
			conditions := reconcile.NewConditions(before, 0, time.Unix(1, 0))
			setVersion(hcp, conditions)
			for condition, want := range map[string]string{
				hyperv1.ClusterVersionReleaseAccepted: c.accepted, hyperv1.ClusterVersionProgressing: c.progressing,
				hyperv1.ClusterVersionSucceeding: c.succeeding, hyperv1.ClusterVersionAvailable: c.available,
			} {
				got := ""
				if is := conditions.Get(condition); is != nil {
					got = string(is.Status) + " " + is.Reason
					if is.ObservedGeneration != 7 {
						t.Errorf("%s is of generation %d", condition, is.ObservedGeneration)
					}
				}
				if got != want {
					t.Errorf("%s is %q, want %q", condition, got, want)
				}
			}
		})
	}
}
