package fakeaws

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

var update = flag.Bool("update", false, "write constraints.json")

// TestConstraintsAreThoseOfTheModels compares the file with the models that the emulator has.
func TestConstraintsAreThoseOfTheModels(t *testing.T) {
	if testing.Short() && !*update {
		t.Skip("the models belong to the emulator, which needs Python")
	}
	served := map[string][]string{}
	for _, op := range operations {
		served[op.service] = append(served[op.service], op.name)
	}
	want, err := awsemulator.Constraints(t.Context(), served)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("constraints.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(constraintsJSON)); diff != "" {
		t.Errorf("run go test ./test/fakeaws -run TestConstraints -args -update (-want +got):\n%s", diff)
	}
}

// TestConstraintsFitTheSDK checks that no constraint is lost because a field of the SDK has another name or type.
func TestConstraintsFitTheSDK(t *testing.T) {
	checked := 0
	for _, op := range operations {
		service := models().Services[op.service]
		if service == nil {
			t.Errorf("service %s has no constraints", op.service)
			continue
		}
		if name := service.Operations[op.name]; name != "" {
			checked += service.fits(t, op.name, name, op.input)
		}
	}
	if checked < 100 {
		t.Errorf("only %d constraints were found", checked)
	}
}

// newer are members of the models that the SDK does not have yet: no request can have them.
var newer = map[string]bool{
	"AcceptVpcEndpointConnections.TransitGatewayAttachmentIds": true,
	"RejectVpcEndpointConnections.TransitGatewayAttachmentIds": true,
	"ModifyVpcEndpointServicePermissions.PermissionType":       true,
}

func (s *serviceConstraints) fits(t *testing.T, path, name string, typ reflect.Type) (checked int) {
	limits := s.Shapes[name]
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if limits == nil {
		t.Errorf("%s: there is no shape %s", path, name)
		return 0
	}
	kinds := map[reflect.Kind]bool{}
	switch {
	case limits.Members != nil || limits.Required != nil:
		kinds[reflect.Struct] = true
	case limits.Key != "":
		kinds[reflect.Map] = true
	case limits.Item != "":
		kinds[reflect.Slice], kinds[reflect.Map] = true, true
	case limits.Pattern != "" || limits.Enum != nil:
		kinds[reflect.String] = true
	default:
		kinds[reflect.String], kinds[reflect.Int32], kinds[reflect.Int64], kinds[reflect.Slice], kinds[reflect.Map] = true, true, true, true, true
	}
	if !kinds[typ.Kind()] {
		t.Errorf("%s: the SDK has a %s, the model %+v", path, typ, limits)
		return 0
	}
	checked = 1
	for _, member := range limits.Required {
		if _, ok := typ.FieldByName(fieldOf(member)); !ok {
			t.Errorf("%s: the SDK has no field %s", path, member)
		}
	}
	for member, below := range limits.Members {
		field, ok := typ.FieldByName(fieldOf(member))
		if !ok {
			if newer[path+"."+member] {
				continue
			}
			t.Errorf("%s: the SDK has no field %s", path, member)
			continue
		}
		checked += s.fits(t, path+"."+member, below, field.Type)
	}
	if limits.Item != "" {
		checked += s.fits(t, path+"[]", limits.Item, typ.Elem())
	}
	if limits.Key != "" {
		checked += s.fits(t, path+".key", limits.Key, typ.Key())
	}
	return checked
}

// recordedErrors is a test that fails into a list.
type recordedErrors []string

func (r *recordedErrors) Errorf(format string, args ...any) {
	*r = append(*r, fmt.Sprintf(format, args...))
}

func TestRequestsThatTheModelsRefuse(t *testing.T) {
	const region, account = "us-east-1", "111111111111"
	var failures recordedErrors
	cloud := New(clocktesting.NewFakeClock(time.Unix(1e9, 0))).FailOn(&failures)
	cfg := cloud.Account(account).Config(region, "client")
	cfg.RetryMaxAttempts = 1
	compute, balancing, dns, objects, tokens := ec2.NewFromConfig(cfg), elb.NewFromConfig(cfg), route53.NewFromConfig(cfg), s3.NewFromConfig(cfg), sts.NewFromConfig(cfg)
	endpoint := func(change func(*ec2.CreateVpcEndpointInput)) func() error {
		return func() error {
			in := &ec2.CreateVpcEndpointInput{VpcId: aws.String("vpc-1"), ServiceName: aws.String("a"), VpcEndpointType: ec2types.VpcEndpointTypeInterface}
			change(in)
			_, err := compute.CreateVpcEndpoint(t.Context(), in)
			return err
		}
	}
	record := func(change func(*r53types.ResourceRecordSet)) func() error {
		return func() error {
			set := &r53types.ResourceRecordSet{Name: aws.String("a.test"), Type: r53types.RRTypeA, TTL: aws.Int64(60), ResourceRecords: []r53types.ResourceRecord{{Value: aws.String("192.0.2.1")}}}
			change(set)
			_, err := dns.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{HostedZoneId: aws.String("Z1"), ChangeBatch: &r53types.ChangeBatch{
				Changes: []r53types.Change{{Action: r53types.ChangeActionUpsert, ResourceRecordSet: set}}}})
			return err
		}
	}
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"an enumeration": {endpoint(func(in *ec2.CreateVpcEndpointInput) { in.VpcEndpointType = "Internal" }), "ec2.CreateVpcEndpoint InvalidParameterValue"},
		"an enumeration in a list": {endpoint(func(in *ec2.CreateVpcEndpointInput) {
			in.TagSpecifications = []ec2types.TagSpecification{{ResourceType: "endpoint"}}
		}), "ec2.CreateVpcEndpoint InvalidParameterValue"},
		"the length of a token":  {endpoint(func(in *ec2.CreateVpcEndpointInput) { in.ClientToken = aws.String(strings.Repeat("t", 65)) }), "ec2.CreateVpcEndpoint InvalidParameterValue"},
		"the pattern of a token": {endpoint(func(in *ec2.CreateVpcEndpointInput) { in.ClientToken = aws.String("ü") }), "ec2.CreateVpcEndpoint InvalidParameterValue"},
		"the length of a tag": {func() error {
			_, err := compute.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{"vpc-1"}, Tags: []ec2types.Tag{{Key: aws.String("k"), Value: aws.String(strings.Repeat("v", 257))}}})
			return err
		}, "ec2.CreateTags InvalidParameterValue"},
		"a range of ELB": {func() error {
			_, err := balancing.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{PageSize: aws.Int32(401)})
			return err
		}, "elasticloadbalancing.DescribeLoadBalancers ValidationError"},
		"a record type": {record(func(set *r53types.ResourceRecordSet) { set.Type = "ALIAS" }), "route53.ChangeResourceRecordSets InvalidInput"},
		"a range":       {record(func(set *r53types.ResourceRecordSet) { set.TTL = aws.Int64(-1) }), "route53.ChangeResourceRecordSets InvalidInput"},
		"the length of a list": {func() error {
			_, err := dns.ChangeResourceRecordSets(t.Context(), &route53.ChangeResourceRecordSetsInput{HostedZoneId: aws.String("Z1"), ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{}}})
			return err
		}, "route53.ChangeResourceRecordSets InvalidInput"},
		"an enumeration of S3": {func() error {
			_, err := objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: strings.NewReader("a"), StorageClass: s3types.StorageClass("COLD")})
			return err
		}, "s3.PutObject InvalidArgument"},
		"the pattern of a session name": {func() error {
			_, err := tokens.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: aws.String("arn:aws:iam::" + account + ":role/a"), RoleSessionName: aws.String("a/b")})
			return err
		}, "sts.AssumeRole ValidationError"},
	} {
		t.Run(name, func(t *testing.T) {
			failures = nil
			err := c.call()
			if err == nil || !strings.HasSuffix(c.want, " "+codeOf(err)) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if len(failures) != 1 || !strings.Contains(failures[0], c.want) {
				t.Errorf("the test that made the request has the failures %q, want one with %s", failures, c.want)
			}

			failures = nil
			missing := cloud.ExpectRefused(c.want)
			if err := c.call(); err == nil || len(failures) > 0 || len(missing()) > 0 {
				t.Errorf("a test that expects the refusal has %v and the failures %q", err, failures)
			}
		})
	}
	if missing := cloud.ExpectRefused("ec2.CreateTags InvalidParameterValue")(); len(missing) != 1 {
		t.Errorf("missing %q", missing)
	}
}
