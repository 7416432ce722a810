package fleet_test

import (
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/consoletest"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/fleet"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestStateOfARow(t *testing.T) {
	type condition struct {
		name   string
		status metav1.ConditionStatus
	}
	notReady := condition{hyperv1.HostedClusterReady, metav1.ConditionFalse}
	for name, c := range map[string]struct {
		conditions []condition
		change     func(*watch.Cluster)
		want       fleet.State
		waits      bool
	}{
		"ready":                       {want: fleet.Ready},
		"not ready":                   {conditions: []condition{notReady}, want: fleet.NotReady, waits: true},
		"stalled":                     {conditions: []condition{notReady, {hyperv1.HostedClusterStalled, metav1.ConditionTrue}}, want: fleet.Stalled, waits: true},
		"a paused cluster is stalled": {conditions: []condition{{hyperv1.HostedClusterStalled, metav1.ConditionTrue}, {hyperv1.ReconciliationActive, metav1.ConditionFalse}}, want: fleet.Paused, waits: true},
		"asleep":                      {conditions: []condition{notReady, {hyperv1.HostedClusterAsleep, metav1.ConditionTrue}}, want: fleet.Asleep},
		"before the first rollout":    {conditions: []condition{notReady}, change: func(c *watch.Cluster) { c.HostedCluster.Status.Version = nil }, want: fleet.Starting, waits: true},
		"being deleted":               {conditions: []condition{notReady}, change: func(c *watch.Cluster) { c.HostedCluster.DeletionTimestamp = &metav1.Time{Time: now} }, want: fleet.Deleting, waits: true},
		"an upgrade of a working cluster": {conditions: []condition{notReady}, change: func(c *watch.Cluster) {
			c.HostedCluster.Status.Version.History = append([]configv1.UpdateHistory{{State: configv1.PartialUpdate, Version: "1.38.0"}}, c.HostedCluster.Status.Version.History...)
		}, want: fleet.Upgrading, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := consoletest.Private("clusters", "demo", now)
			for _, change := range c.conditions {
				cluster = consoletest.SetCondition(cluster, change.name, change.status, "Reason", "because", now)
			}
			if c.change != nil {
				c.change(cluster)
			}
			row := fleet.RowOf(cluster.Objects)
			if row.State != c.want || (row.Waiting != "") != c.waits {
				t.Errorf("state %q, waits for %q", row.State, row.Waiting)
			}
			if row.Nodes != 2 || row.LoadBalancers != 1 || row.Endpoints != 1 || row.Access != "Private" {
				t.Errorf("%+v", row)
			}
		})
	}
}

func TestRowOfAnUpgrade(t *testing.T) {
	c := consoletest.Private("clusters", "demo", now)
	c.HostedCluster.Status.Version.History = append([]configv1.UpdateHistory{{State: configv1.PartialUpdate, Version: "1.38.0"}}, c.HostedCluster.Status.Version.History...)
	if row := fleet.RowOf(c.Objects); row.Version != "1.37.2" || row.Target != "1.38.0" {
		t.Errorf("%s to %s", row.Version, row.Target)
	}
}

func TestQuery(t *testing.T) {
	rows := []fleet.Row{
		{Namespace: "b", Name: "x", State: fleet.Ready, Nodes: 1, Version: "1.37.2"},
		{Namespace: "a", Name: "y", State: fleet.Stalled, Nodes: 3, Version: "1.36.3", Waiting: "VPC endpoint rejected"},
		{Namespace: "a", Name: "x", State: fleet.Ready, Nodes: 2, Version: "1.37.2", Access: "Private"},
	}
	for name, c := range map[string]struct {
		query fleet.Query
		want  string
	}{
		"by name":            {fleet.Query{}, "a/x a/y b/x"},
		"every word matches": {fleet.Query{Text: "A/ private"}, "a/x"},
		"a text of a wait":   {fleet.Query{Text: "rejected"}, "a/y"},
		"no match":           {fleet.Query{Text: "rejected private"}, ""},
		"a state":            {fleet.Query{State: fleet.Ready}, "a/x b/x"},
		"by attention":       {fleet.Query{Sort: "state"}, "a/y a/x b/x"},
		"by nodes":           {fleet.Query{Sort: "nodes"}, "a/y a/x b/x"},
		"by version":         {fleet.Query{Sort: "version"}, "a/y a/x b/x"},
		"an unknown order":   {fleet.Query{Sort: "colour"}, "a/x a/y b/x"},
	} {
		t.Run(name, func(t *testing.T) {
			var keys []string
			for _, r := range c.query.Select(rows) {
				keys = append(keys, r.Key())
			}
			if got := strings.Join(keys, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if rows[0].Key() != "b/x" {
		t.Error("Select changed its argument")
	}
}
