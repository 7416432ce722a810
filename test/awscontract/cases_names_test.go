package awscontract

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	r53types "github.com/aws/aws-sdk-go-v2/service/route53/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

func (r *run) zone(name string) error {
	out, err := r.consumer.route53.CreateHostedZone(r.ctx, &route53.CreateHostedZoneInput{Name: &name, CallerReference: aws.String(r.unique("zone"))})
	if err == nil {
		r.later(func() {
			_, _ = r.consumer.route53.DeleteHostedZone(r.ctx, &route53.DeleteHostedZoneInput{Id: out.HostedZone.Id})
		})
	}
	return err
}

func (r *run) upsert(name string, kind r53types.RRType, value string) error {
	_, err := r.consumer.route53.ChangeResourceRecordSets(r.ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &r.hostedZone, ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{{Action: r53types.ChangeActionUpsert, ResourceRecordSet: &r53types.ResourceRecordSet{
			Name: aws.String(name + "." + r.domain), Type: kind, TTL: aws.Int64(30), ResourceRecords: []r53types.ResourceRecord{{Value: &value}}}}}}})
	if err == nil {
		r.later(func() { r.dropRecord(name, kind, value) })
	}
	return err
}

func (r *run) dropRecord(name string, kind r53types.RRType, value string) {
	_, err := r.consumer.route53.ChangeResourceRecordSets(r.ctx, &route53.ChangeResourceRecordSetsInput{
		HostedZoneId: &r.hostedZone, ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{{Action: r53types.ChangeActionDelete, ResourceRecordSet: &r53types.ResourceRecordSet{
			Name: aws.String(name + "." + r.domain), Type: kind, TTL: aws.Int64(30), ResourceRecords: []r53types.ResourceRecord{{Value: &value}}}}}}})
	if err != nil {
		r.t.Logf("deleting record %s: %v", name, err)
	}
}

// atOnce makes calls side by side.
func atOnce(count int, call func() error) []error {
	errs := make([]error, count)
	var calls sync.WaitGroup
	for i := range errs {
		calls.Go(func() { errs[i] = call() })
	}
	calls.Wait()
	return errs
}

// someRefusedBy wants the refusal of a rule from some of the calls, and no other error.
func (r *run) someRefusedBy(id, what string, errs []error) {
	refused := 0
	for _, err := range errs {
		if err != nil {
			r.refusedBy(id, what, err)
			refused++
		}
	}
	if refused == 0 {
		r.differ("%s: AWS refuses some of %d calls", what, len(errs))
	}
}

func (r *run) newBucket() string {
	name := strings.ToLower(r.unique("contract-" + r.provider.account))
	_, err := r.provider.s3.CreateBucket(r.ctx, &s3.CreateBucketInput{Bucket: &name})
	r.ok("CreateBucket", err)
	r.later(func() { _, _ = r.provider.s3.DeleteBucket(r.ctx, &s3.DeleteBucketInput{Bucket: &name}) })
	return name
}

func publicPolicy(bucket string) *string {
	return aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::` + bucket + `/*"}]}`)
}

var nameRules = map[string]func(*run){
	"the value of an A record is an IPv4 address": func(r *run) {
		for _, value := range []string{"balancer.example.org", "fd00::1"} {
			r.refusedBy("route53-address", value, r.upsert("address", r53types.RRTypeA, value))
		}
		r.ok("an address", r.upsert("address", r53types.RRTypeA, "10.0.0.1"))
	},
	"the value of an AAAA record is an IPv6 address": func(r *run) {
		r.refusedBy("route53-ipv6-address", "an IPv4 address", r.upsert("address", r53types.RRTypeAaaa, "10.0.0.1"))
		r.ok("an address", r.upsert("address", r53types.RRTypeAaaa, "fd00::1"))
	},
	"Route 53 has no public zones of reserved domain names": func(r *run) {
		r.refusedBy("route53-reserved-names", "example.com", r.zone("example.com"))
		r.ok("another name", r.zone(r.unique("contract")+".hypershift.dev"))
	},
	"Route 53 takes 5 requests of an account each second": func(r *run) {
		r.someRefusedBy("route53-requests", "20 calls at once", atOnce(20, func() error {
			_, err := r.quick.route53.GetHostedZone(r.ctx, &route53.GetHostedZoneInput{Id: &r.hostedZone})
			return err
		}))
	},
	"Route 53 processes one change of a zone at a time": func(r *run) {
		change := func() error {
			_, err := r.quick.route53.ChangeResourceRecordSets(r.ctx, &route53.ChangeResourceRecordSetsInput{
				HostedZoneId: &r.hostedZone, ChangeBatch: &r53types.ChangeBatch{Changes: []r53types.Change{{Action: r53types.ChangeActionUpsert, ResourceRecordSet: &r53types.ResourceRecordSet{
					Name: aws.String("prior." + r.domain), Type: r53types.RRTypeTxt, TTL: aws.Int64(30), ResourceRecords: []r53types.ResourceRecord{{Value: aws.String(`"a"`)}}}}}}})
			return err
		}
		// Most of the calls may be throttled.
		r.becomes("a change is refused while another one is processed", func() bool {
			return slices.ContainsFunc(atOnce(4, change), func(err error) bool {
				var api smithy.APIError
				return errors.As(err, &api) && api.ErrorCode() == awsrules.Get("route53-prior-request").Code
			})
		})
		r.dropRecord("prior", r53types.RRTypeTxt, `"a"`)
	},
	"EC2 takes few requests for endpoint services at once": func(r *run) {
		r.someRefusedBy("ec2-requests-endpoint-services", "30 calls at once", atOnce(30, func() error {
			_, err := r.quick.ec2.DeleteVpcEndpointServiceConfigurations(r.ctx, &ec2.DeleteVpcEndpointServiceConfigurationsInput{ServiceIds: []string{"vpce-svc-0123456789abcdef0"}})
			return err
		}))
	},
	"a new bucket blocks public policies": func(r *run) {
		bucket := r.newBucket()
		put := func() error {
			_, err := r.provider.s3.PutBucketPolicy(r.ctx, &s3.PutBucketPolicyInput{Bucket: &bucket, Policy: publicPolicy(bucket)})
			return err
		}
		r.refusedBy("s3-public-policy", "a public policy", put())
		_, err := r.provider.s3.PutPublicAccessBlock(r.ctx, &s3.PutPublicAccessBlockInput{Bucket: &bucket, PublicAccessBlockConfiguration: &s3types.PublicAccessBlockConfiguration{
			BlockPublicAcls: aws.Bool(true), IgnorePublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(false), RestrictPublicBuckets: aws.Bool(false)}})
		r.ok("PutPublicAccessBlock", err)
		r.settles("s3-public-policy", "S3 takes the policy", put)
	},
	"a new bucket has no access control lists": func(r *run) {
		_, err := r.provider.s3.PutObject(r.ctx, &s3.PutObjectInput{Bucket: &r.bucket, Key: aws.String("list"), Body: strings.NewReader("a"), ACL: s3types.ObjectCannedACLPublicRead})
		r.refusedBy("s3-access-control-lists", "an object with a list", err)
		_, err = r.provider.s3.PutObject(r.ctx, &s3.PutObjectInput{Bucket: &r.bucket, Key: aws.String("list"), Body: strings.NewReader("a"), ACL: s3types.ObjectCannedACLBucketOwnerFullControl})
		r.ok("the list that has no effect", err)
		_, err = r.provider.s3.DeleteObject(r.ctx, &s3.DeleteObjectInput{Bucket: &r.bucket, Key: aws.String("list")})
		r.ok("DeleteObject", err)
	},
}
