package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// TestEveryConditionIsJudged compares the tables with docs/conditions.md, which
// is made from the API: a new condition needs a line in a table, or here.
func TestEveryConditionIsJudged(t *testing.T) {
	notAFailure := []string{hyperv1.HostedClusterAsleep, hyperv1.AWSDefaultSecurityGroupDeleted, hyperv1.CloudResourcesDestroyed, hyperv1.HostedClusterDestroyed}
	aChoice := []string{hyperv1.NodePoolAutoscalingEnabledCondition, hyperv1.NodePoolAutorepairEnabledCondition, hyperv1.NodePoolDeletingCondition}
	for _, tc := range []struct {
		headings string
		healthy  map[string]metav1.ConditionStatus
		neither  []string
	}{
		{`types of an AWSEndpointService|types of a HostedCluster|types about components of the control plane|copied from the ClusterVersion object|types that appear while a cluster is being deleted`, healthyClusters, notAFailure},
		{`Conditions of a NodePool`, healthyPools, aChoice},
	} {
		documented := conditionsUnder(t, regexp.MustCompile(tc.headings))
		if len(documented) < len(tc.healthy) {
			t.Errorf("%q: the page has %d conditions, the table %d", tc.headings, len(documented), len(tc.healthy))
		}
		for _, c := range tc.neither {
			delete(documented, c)
		}
		for c := range documented {
			if tc.healthy[c] == "" {
				t.Errorf("what %s says when all is well is in no table", c)
			}
		}
	}
}

var (
	heading   = regexp.MustCompile(`(?m)^## .*$`)
	condition = regexp.MustCompile(`(?m)^- \*\*(\w+)\*\*`)
)

func conditionsUnder(t *testing.T, wanted *regexp.Regexp) map[string]bool {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "conditions.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	titles := heading.FindAllString(string(text), -1)
	for i, body := range heading.Split(string(text), -1)[1:] {
		if !wanted.MatchString(titles[i]) {
			continue
		}
		for _, c := range condition.FindAllStringSubmatch(body, -1) {
			found[c[1]] = true
		}
	}
	return found
}
