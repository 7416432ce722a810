package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
)

// truth compares every status with True conditions with the state of AWS at that moment.
type truth struct {
	cloud *cloud

	mu      sync.Mutex
	checked int
	lies    []string
}

// check is called with a status just before it is written.
func (t *truth) check(obj runtime.ApplyConfiguration) {
	es, ok := endpointServiceIn(obj)
	if !ok || !meta.IsStatusConditionTrue(es.Status.Conditions, hyperv1.AWSEndpointAvailable) {
		return
	}
	lie := t.lie(context.Background(), es)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.checked++
	if lie != "" {
		t.lies = append(t.lies, es.Name+": "+lie)
	}
}

func endpointServiceIn(obj runtime.ApplyConfiguration) (*hyperv1.AWSEndpointService, bool) {
	es := &hyperv1.AWSEndpointService{}
	text, err := json.Marshal(obj)
	return es, err == nil && json.Unmarshal(text, es) == nil && es.Kind == "AWSEndpointService"
}

// lie describes the difference to the state of AWS, or returns "".
func (t *truth) lie(ctx context.Context, es *hyperv1.AWSEndpointService) string {
	cfg := t.cloud.theirs.Config(region, observer)
	out, err := awsx.EC2(cfg).DescribeVpcEndpoints(ctx, &ec2.DescribeVpcEndpointsInput{VpcEndpointIds: []string{es.Status.EndpointID}})
	if err != nil {
		return err.Error()
	}
	endpoint := out.VpcEndpoints[0]
	if !strings.EqualFold(string(endpoint.State), "available") {
		return "the endpoint is " + string(endpoint.State)
	}
	if len(es.Status.DNSNames) == 0 {
		return "no record is named"
	}
	records, err := records.NewClient(cfg).ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: &es.Status.DNSZoneID})
	if err != nil {
		return err.Error()
	}
	var there []string
	for _, set := range records.ResourceRecordSets {
		for _, r := range set.ResourceRecords {
			if strings.HasPrefix(aws.ToString(r.Value), es.Status.EndpointID) {
				there = append(there, strings.ReplaceAll(strings.TrimSuffix(aws.ToString(set.Name), "."), `\052`, "*"))
			}
		}
	}
	for _, name := range es.Status.DNSNames {
		if !slices.Contains(there, name) {
			return fmt.Sprintf("%s does not lead to the endpoint", name)
		}
	}
	return ""
}

// available reports whether the conditions of both operators are True.
func available(es *hyperv1.AWSEndpointService) bool {
	for _, condition := range []string{hyperv1.AWSEndpointServiceAvailable, hyperv1.AWSEndpointAvailable} {
		if c := meta.FindStatusCondition(es.Status.Conditions, condition); c == nil || c.Status != metav1.ConditionTrue {
			return false
		}
	}
	return true
}
