package ingressrecords

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/controlplanestatus"
	"github.com/hosted-control-planes/hypershift/internal/awsx/records"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

const (
	resync   = 30 * time.Minute
	balancer = "ingress-1.elb.us-east-1.amazonaws.com"
)

// customerZones is a control plane with a public and a private zone of its customer.
type customerZones struct {
	*testenv.Env
	account         *fakeaws.Account
	public, private string
}

func newCustomerZones(t testing.TB) *customerZones {
	e := &customerZones{Env: testenv.New(t, testenv.WithKinds(&hyperv1.HostedControlPlaneList{}), testenv.WithStatus(&hyperv1.HostedControlPlane{}))}
	e.account, _ = e.CustomerAccount()
	role := e.account.AddRole(testenv.TrustingRole("demo-ingress", names.IngressSubject))
	vpc := e.account.AddVPC(testenv.Region, fakeaws.VPC{})
	e.public = e.account.AddHostedZone(fakeaws.HostedZone{Name: "example.com"})
	e.private = e.account.AddHostedZone(fakeaws.HostedZone{Name: "demo.example.com", VPCs: []fakeaws.ZoneVPC{{Region: testenv.Region, ID: vpc}}})
	hcp := testenv.HostedControlPlane(func(hcp *hyperv1.HostedControlPlane) {
		hcp.Spec.Capabilities = &hyperv1.Capabilities{Enabled: []hyperv1.OptionalCapability{hyperv1.IngressCapability}}
		hcp.Spec.DNS = hyperv1.DNSSpec{BaseDomain: "example.com", PublicZoneID: "/hostedzone/" + e.public, PrivateZoneID: e.private}
		hcp.Spec.Platform.AWS.EndpointAccess, hcp.Spec.Platform.AWS.RolesRef.IngressARN = hyperv1.PublicAndPrivate, hyperv1.RoleARN(role)
		hcp.Status.Ingress = &hyperv1.IngressStatus{LoadBalancer: balancer}
	})
	e.Create(testenv.SigningKeySecret(), hcp)
	e.Object, e.Start = hcp, e.start
	e.Restart()
	return e
}

func (e *customerZones) start() testenv.Pass {
	signer, sessions := e.Sessions()
	r := New(Options{
		Client: e.Client(), Status: controlplanestatus.New(e.Client(), e.Client()), Clock: e.Clock, Sessions: sessions, KeyReady: signer.Ready, ResyncPeriod: resync,
	})
	return testenv.PassOver(e.Env, &hyperv1.HostedControlPlaneList{}, r.ReconcileObject)
}

// leads returns where the names of applications lead in a zone, as "name type target", without the zone's own records.
func (e *customerZones) leads(zone string) string {
	e.T.Helper()
	out, err := e.route53().ListResourceRecordSets(e.T.Context(), &route53.ListResourceRecordSetsInput{HostedZoneId: &zone})
	e.Must(err)
	var lines []string
	for _, r := range out.ResourceRecordSets {
		if r.Type != types.RRTypeNs && r.Type != types.RRTypeSoa {
			lines = append(lines, records.Canonical(aws.ToString(r.Name))+" "+string(r.Type)+" "+aws.ToString(r.ResourceRecords[0].Value))
		}
	}
	return strings.Join(lines, "; ")
}

// put writes a record as another person.
func (e *customerZones) put(zone, name string, kind types.RRType, value string) {
	e.T.Helper()
	_, err := e.route53().ChangeResourceRecordSets(e.T.Context(), &route53.ChangeResourceRecordSetsInput{HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{
		Changes: []types.Change{{Action: types.ChangeActionUpsert, ResourceRecordSet: &types.ResourceRecordSet{
			Name: &name, Type: kind, TTL: aws.Int64(60), ResourceRecords: []types.ResourceRecord{{Value: &value}},
		}}},
	}})
	e.Must(err)
}

func (e *customerZones) route53() *route53.Client {
	return records.NewClient(e.account.Config(testenv.Region, "admin"))
}

// changes is a change of the record of the applications.
func changes(zone string, action types.ChangeAction, target string) *route53.ChangeResourceRecordSetsInput {
	return &route53.ChangeResourceRecordSetsInput{HostedZoneId: &zone, ChangeBatch: &types.ChangeBatch{
		Changes: []types.Change{{Action: action, ResourceRecordSet: &types.ResourceRecordSet{
			Name: aws.String("*.apps.demo.example.com"), Type: types.RRTypeCname, TTL: aws.Int64(60), ResourceRecords: []types.ResourceRecord{{Value: &target}},
		}}},
	}}
}
