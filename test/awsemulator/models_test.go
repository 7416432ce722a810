package awsemulator_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// TestModels sends requests that a wrong client would send, past the SDK, because its types do not allow most of them.
func TestModels(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	query := func(version, action string, pairs ...string) string {
		values := url.Values{"Action": {action}, "Version": {version}}
		for i := 0; i < len(pairs); i += 2 {
			values.Set(pairs[i], pairs[i+1])
		}
		return values.Encode()
	}
	ec2 := func(action string, pairs ...string) request {
		return request{service: "ec2", action: action, contentType: form, body: query("2016-11-15", action, pairs...)}
	}
	iam := func(action string, pairs ...string) request {
		return request{service: "iam", action: action, contentType: form, body: query("2010-05-08", action, pairs...)}
	}
	elb := func(action string, pairs ...string) request {
		return request{service: "elasticloadbalancing", action: action, contentType: form, body: query("2015-12-01", action, pairs...)}
	}
	sts := func(action string, pairs ...string) request {
		return request{service: "sts", action: action, contentType: form, body: query("2011-06-15", action, pairs...)}
	}
	dns := func(method, path, action, body string) request {
		return request{service: "route53", action: action, method: method, path: path, body: body}
	}
	quotas := func(action, body string) request {
		return request{service: "servicequotas", action: action, target: "ServiceQuotasV20190624." + action, contentType: "application/x-amz-json-1.1", body: body}
	}
	ssm := func(action, body string) request {
		return request{service: "ssm", action: action, target: "AmazonSSM." + action, contentType: "application/x-amz-json-1.1", body: body}
	}
	const zone = `<CreateHostedZoneRequest xmlns="https://route53.amazonaws.com/doc/2013-04-01/">%s</CreateHostedZoneRequest>`
	const records = `<ChangeResourceRecordSetsRequest><ChangeBatch><Changes><Change><Action>%s</Action><ResourceRecordSet>` +
		`<Name>a.example.test</Name><Type>%s</Type><TTL>%s</TTL></ResourceRecordSet></Change></Changes></ChangeBatch></ChangeResourceRecordSetsRequest>`

	for name, c := range map[string]struct {
		request
		code string
	}{
		"EC2: a parameter that does not exist":                     {ec2("DescribeVpcs", "VpcIds.1", "vpc-1"), "UnknownParameter"},
		"EC2: a member of a structure that does not exist":         {ec2("DescribeVpcs", "Filter.1.Name", "vpc-id", "Filter.1.Values.1", "vpc-1"), "UnknownParameter"},
		"EC2: a required parameter is missing":                     {ec2("CreateVpcEndpoint", "ServiceName", "a"), "MissingParameter"},
		"EC2: a value of no enumeration":                           {ec2("CreateVpc", "CidrBlock", "10.0.0.0/16", "InstanceTenancy", "shared"), "InvalidParameterValue"},
		"EC2: a number that is none":                               {ec2("RunInstances", "MinCount", "one", "MaxCount", "1"), "InvalidParameterValue"},
		"EC2: a page that is too small":                            {ec2("DescribeInstanceTypes", "MaxResults", "4"), "InvalidParameterValue"},
		"EC2: a client token of 65 characters":                     {ec2("CreateVpcEndpoint", "VpcId", "vpc-1", "ServiceName", "a", "ClientToken", strings.Repeat("a", 65)), "InvalidParameterValue"},
		"EC2: a client token with an umlaut":                       {ec2("CreateVpcEndpoint", "VpcId", "vpc-1", "ServiceName", "a", "ClientToken", "ü"), "InvalidParameterValue"},
		"EC2: a tag key of 128 characters":                         {ec2("CreateTags", "ResourceId.1", "vpc-1", "Tag.1.Key", strings.Repeat("k", 128), "Tag.1.Value", ""), "InvalidParameterValue"},
		"EC2: a tag value of 257 characters":                       {ec2("CreateTags", "ResourceId.1", "vpc-1", "Tag.1.Key", "k", "Tag.1.Value", strings.Repeat("v", 257)), "InvalidParameterValue"},
		"EC2: an action that does not exist":                       {ec2("CreateVpcs"), "InvalidAction"},
		"EC2: what the API reference has in addition to the model": {ec2("DescribeAccountAttributes", "AttributeName.1", "vpc-max-elastic-ips"), ""},
		"EC2: another attribute":                                   {ec2("DescribeAccountAttributes", "AttributeName.1", "vpc-most-elastic-ips"), "InvalidParameterValue"},
		"STS: a form in the URL":                                   {request{service: "sts", action: "GetCallerIdentity", method: "GET", path: "/?Action=GetCallerIdentity&Version=2011-06-15"}, ""},
		"IAM: a role name of 65 characters":                        {iam("CreateRole", "RoleName", strings.Repeat("r", 65), "AssumeRolePolicyDocument", "{}"), "ValidationError"},
		"IAM: a role name with an umlaut":                          {iam("GetRole", "RoleName", "rölle"), "ValidationError"},
		"IAM: a role name with a space":                            {iam("GetRole", "RoleName", "a b"), "ValidationError"},
		"IAM: no role name":                                        {iam("GetRole"), "ValidationError"},
		"IAM: a tag value with brackets":                           {iam("TagRole", "RoleName", "a", "Tags.member.1.Key", "k", "Tags.member.1.Value", "a,b[c]"), "ValidationError"},
		"IAM: a tag key with a bracket":                            {iam("TagRole", "RoleName", "a", "Tags.member.1.Key", "k[", "Tags.member.1.Value", ""), "ValidationError"},
		"IAM: a list as EC2 writes it":                             {iam("TagRole", "RoleName", "a", "Tags.1.Key", "k", "Tags.1.Value", ""), "ValidationError"},
		"IAM: a path that does not begin with a slash":             {iam("CreateRole", "RoleName", "a", "Path", "a", "AssumeRolePolicyDocument", "{}"), "ValidationError"},
		"IAM: a session of half an hour":                           {iam("CreateRole", "RoleName", "a", "MaxSessionDuration", "1800", "AssumeRolePolicyDocument", "{}"), "ValidationError"},
		"ELB: a load balancer name of 33 characters":               {elb("CreateLoadBalancer", "Name", strings.Repeat("n", 33), "Subnets.member.1", "subnet-1"), "ValidationError"},
		"ELB: a load balancer name with an underscore":             {elb("CreateLoadBalancer", "Name", "a_b", "Subnets.member.1", "subnet-1"), "ValidationError"},
		"ELB: a target group name of 33 characters":                {elb("CreateTargetGroup", "Name", strings.Repeat("n", 33)), "ValidationError"},
		"ELB: a scheme that does not exist":                        {elb("CreateLoadBalancer", "Name", "a", "Scheme", "private"), "ValidationError"},
		"ELB: a port beyond the range":                             {elb("CreateTargetGroup", "Name", "a", "Port", "65536"), "ValidationError"},
		"ELB: a page of 401":                                       {elb("DescribeLoadBalancers", "PageSize", "401"), "ValidationError"},
		"STS: a session name with a slash":                         {sts("AssumeRole", "RoleArn", "arn:aws:iam::111111111111:role/a", "RoleSessionName", "a/b"), "ValidationError"},
		"STS: a session of one second":                             {sts("AssumeRole", "RoleArn", "arn:aws:iam::111111111111:role/a", "RoleSessionName", "ab", "DurationSeconds", "1"), "ValidationError"},
		"Route 53: no caller reference":                            {dns("POST", "/2013-04-01/hostedzone", "CreateHostedZone", fmt.Sprintf(zone, "<Name>a.test</Name>")), "InvalidInput"},
		"Route 53: a caller reference of 129 characters":           {dns("POST", "/2013-04-01/hostedzone", "CreateHostedZone", fmt.Sprintf(zone, "<Name>a.test</Name><CallerReference>"+strings.Repeat("c", 129)+"</CallerReference>")), "InvalidInput"},
		"Route 53: an element that does not exist":                 {dns("POST", "/2013-04-01/hostedzone", "CreateHostedZone", fmt.Sprintf(zone, "<Name>a.test</Name><CallerReference>c</CallerReference><Private>true</Private>")), "MalformedInput"},
		"Route 53: an action that does not exist":                  {dns("POST", "/2013-04-01/hostedzone/Z1/rrset/", "ChangeResourceRecordSets", fmt.Sprintf(records, "REPLACE", "A", "60")), "InvalidInput"},
		"Route 53: a record type that does not exist":              {dns("POST", "/2013-04-01/hostedzone/Z1/rrset/", "ChangeResourceRecordSets", fmt.Sprintf(records, "UPSERT", "ALIAS", "60")), "InvalidInput"},
		"Route 53: a negative TTL":                                 {dns("POST", "/2013-04-01/hostedzone/Z1/rrset/", "ChangeResourceRecordSets", fmt.Sprintf(records, "UPSERT", "A", "-1")), "InvalidInput"},
		"Route 53: a query parameter that does not exist":          {dns("GET", "/2013-04-01/hostedzone?zone=a", "ListHostedZones", ""), "MalformedInput"},
		"S3: a region that does not exist":                         {request{service: "s3", action: "CreateBucket", method: "PUT", path: "/models-bucket", body: `<CreateBucketConfiguration><LocationConstraint>moon-1</LocationConstraint></CreateBucketConfiguration>`}, "MalformedXML"},
		"S3: an element that does not exist":                       {request{service: "s3", action: "PutPublicAccessBlock", method: "PUT", path: "/models-bucket?publicAccessBlock", body: `<PublicAccessBlockConfiguration><BlockAll>true</BlockAll></PublicAccessBlockConfiguration>`}, "MalformedXML"},
		"Service Quotas: a quota code with a space":                {quotas("GetServiceQuota", `{"ServiceCode":"vpc","QuotaCode":"L F"}`), "ValidationException"},
		"Service Quotas: no quota code":                            {quotas("GetServiceQuota", `{"ServiceCode":"vpc"}`), "ValidationException"},
		"Service Quotas: a member that does not exist":             {quotas("GetServiceQuota", `{"ServiceCode":"vpc","QuotaCode":"L-F678F1CE","Region":"us-east-1"}`), "ValidationException"},
		"Service Quotas: a number in the place of a string":        {quotas("GetServiceQuota", `{"ServiceCode":"vpc","QuotaCode":1}`), "SerializationException"},
		"Systems Manager: a name of 2049 characters":               {ssm("GetParameter", `{"Name":"`+strings.Repeat("n", 2049)+`"}`), "ValidationException"},
	} {
		t.Run(name, func(t *testing.T) {
			account := emulator.Account(t)
			status, body := c.send(t, account)
			found := "<Code>" + c.code + "</Code>"
			if c.target != "" {
				found = `"` + c.code + `"`
			}
			switch {
			case c.code == "":
				equal(t, "status", status, http.StatusOK)
				return
			case status != http.StatusBadRequest || !strings.Contains(body, found):
				t.Errorf("got %d %s, want 400 with %s", status, body, c.code)
			}
			emulator.ExpectRefused(t, account, c.service+"."+c.action+" "+c.code)
		})
	}
}

// request is a request as it is on the wire.
type request struct {
	service, action, method, path, contentType, target, body string
}

func (r request) send(t *testing.T, account string) (int, string) {
	t.Helper()
	method := r.method
	if method == "" {
		method = http.MethodPost
	}
	q, err := http.NewRequestWithContext(t.Context(), method, emulator.URL+"/"+strings.TrimPrefix(r.path, "/"), bytes.NewReader([]byte(r.body)))
	must(t, err)
	if r.contentType != "" {
		q.Header.Set("Content-Type", r.contentType)
	}
	if r.target != "" {
		q.Header.Set("X-Amz-Target", r.target)
	}
	sum := sha256.Sum256([]byte(r.body))
	must(t, v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: account, SecretAccessKey: "any"}, q, hex.EncodeToString(sum[:]), r.service, "us-east-1", time.Now()))
	answer, err := http.DefaultClient.Do(q)
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, string(text)
}

// testLog is a test that fails into a list.
type testLog struct {
	errors  []string
	cleanup []func()
}

func (*testLog) Helper() {}
func (l *testLog) Errorf(format string, args ...any) {
	l.errors = append(l.errors, fmt.Sprintf(format, args...))
}
func (l *testLog) Cleanup(f func()) { l.cleanup = append(l.cleanup, f) }

// TestRefusedRequestFailsItsTest checks that a request fails the test that owns the account, and no other test, even
// though the program under test ignores the error.
func TestRefusedRequestFailsItsTest(t *testing.T) {
	var wrong, right, expecting testLog
	ends := func(l *testLog) {
		for _, f := range l.cleanup {
			f()
		}
	}
	first, second, third := emulator.Account(&wrong), emulator.Account(&right), emulator.Account(&expecting)
	bad := request{service: "ec2", action: "DescribeVpcs", contentType: "application/x-www-form-urlencoded", body: "Action=DescribeVpcs&Version=2016-11-15&Vpcs.1=a"}
	good := bad
	good.body = "Action=DescribeVpcs&Version=2016-11-15"
	bad.send(t, first)
	good.send(t, second)
	bad.send(t, third)
	emulator.ExpectRefused(&expecting, third, "ec2.DescribeVpcs UnknownParameter")
	for _, l := range []*testLog{&wrong, &right, &expecting} {
		ends(l)
	}
	equal(t, "failures of the wrong test", strings.Join(wrong.errors, "\n"),
		"AWS would refuse ec2.DescribeVpcs of account "+first+": UnknownParameter: The parameter Vpcs is not recognized")
	equal(t, "failures of the other test", len(right.errors), 0)
	equal(t, "failures of the test that expects it", len(expecting.errors), 0)

	emulator.ExpectRefused(&right, second, "ec2.DescribeVpcs UnknownParameter")
	equal(t, "failures of a test that expects too much", strings.Join(right.errors, "\n"), "AWS would have refused no request with ec2.DescribeVpcs UnknownParameter")

	bad.send(t, first)
	code := emulator.Run(noTests{})
	equal(t, "exit code of a package with a refused request of no test", code, 1)
	left, err := emulator.TakeRefused(context.Background(), first)
	must(t, err)
	equal(t, "requests after they were taken", len(left), 0)
}

type noTests struct{}

func (noTests) Run() int { return 0 }
