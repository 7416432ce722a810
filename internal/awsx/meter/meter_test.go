package meter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/meter"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

func TestEveryAttemptIsCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := meter.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	cloud := fakeaws.New(clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))).FailOn(t)
	cfg := cloud.Account("111111111111").Config("us-east-1", "hypershift-operator")
	cfg.APIOptions = append(cfg.APIOptions, m.Middleware)
	cloud.Fault(fakeaws.Fault{Kind: fakeaws.Throttled, Times: 2})
	if _, err := awsx.EC2(cfg).DescribeVpcEndpoints(t.Context(), &ec2.DescribeVpcEndpointsInput{}); err != nil {
		t.Fatal(err)
	}
	want := `
# HELP hypershift_aws_calls_total Calls of AWS by service, operation and outcome: success, or the kind of error.
# TYPE hypershift_aws_calls_total counter
hypershift_aws_calls_total{operation="DescribeVpcEndpoints",outcome="AWSThrottled",service="EC2"} 2
hypershift_aws_calls_total{operation="DescribeVpcEndpoints",outcome="success",service="EC2"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
