package web

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/consoletest"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/timeline"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// hour is the chart of the hour before noon.
var hour = chart{start: noon.Add(-time.Hour), end: noon}

func minute(n int) time.Time { return hour.start.Add(time.Duration(n) * time.Minute) }

func TestOnlyLanesWithProblemsAreShown(t *testing.T) {
	good := func(at time.Time) timeline.Point {
		return timeline.Point{Time: at, Status: metav1.ConditionTrue, Normal: true}
	}
	bad := func(at time.Time) timeline.Point { return timeline.Point{Time: at, Status: metav1.ConditionFalse} }
	for name, c := range map[string]struct {
		points []timeline.Point
		want   bool
	}{
		"good since before the window":       {[]timeline.Point{good(minute(-10))}, false},
		"good since the cluster was created": {[]timeline.Point{good(minute(10))}, false},
		"bad before the window":              {[]timeline.Point{bad(minute(-10)), good(minute(-5))}, false},
		"bad until some time in the window":  {[]timeline.Point{bad(minute(-10)), good(minute(5))}, true},
		"bad for a while in the window":      {[]timeline.Point{good(minute(-10)), bad(minute(5)), good(minute(6))}, true},
		"bad":                                {[]timeline.Point{bad(minute(-10))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(hour.interesting([]timeline.Lane{{Condition: "Ready", Points: c.points}})) == 1; got != c.want {
				t.Errorf("shown: %t", got)
			}
		})
	}
}

func TestBandsAreWhereTheirTimesAre(t *testing.T) {
	bands := render(hour.bands(timeline.Lane{Condition: "Ready", Points: []timeline.Point{
		{Time: minute(-30), Status: metav1.ConditionTrue, Normal: true},
		{Time: minute(30), Status: metav1.ConditionFalse, Reason: "Etcd", Message: "no leader"},
		{Time: minute(45), Status: metav1.ConditionUnknown},
	}}))
	for _, want := range []string{
		`class="band ok" x="0.0" y="2" width="435.0"`, `class="band broken" x="435.0" y="2" width="217.5"`, `class="band unknown" x="652.5" y="2" width="217.5"`,
		"<title>Ready False since 11:30:00: Etcd: no leader</title>",
	} {
		if !strings.Contains(bands, want) {
			t.Errorf("%s is not in %s", want, bands)
		}
	}
}

func TestChangesOfTheAccessModeAreBands(t *testing.T) {
	c := consoletest.Private("clusters", "demo", noon)
	access := render(hour.access(c, []timeline.Lane{{Kind: "HostedCluster", Condition: hyperv1.EndpointAccessUpToDate, Points: []timeline.Point{
		{Time: minute(-30), Status: metav1.ConditionTrue}, {Time: minute(10), Status: metav1.ConditionFalse, Message: "machine a"}, {Time: minute(20), Status: metav1.ConditionTrue},
	}}}))
	for _, want := range []string{`class="band rollout" x="145.0" y="2" width="145.0"`, "machine a", "an earlier access mode", ">Private</text>"} {
		if !strings.Contains(access, want) {
			t.Errorf("%s is not in %s", want, access)
		}
	}
	if got := render(hour.access(c, nil)); got != "" {
		t.Errorf("without the condition: %s", got)
	}
}

func TestRolloutsAreBands(t *testing.T) {
	c := consoletest.Private("clusters", "demo", noon)
	got := render(hour.upgrades(c))
	if !strings.Contains(got, "rollout of 1.37.2") || !strings.Contains(got, `class="band version" x="29.0"`) {
		t.Errorf("the rollout of two minutes is not at the start of the hour: %s", got)
	}
}
