package endpoint

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// drifted changes one attribute of an endpoint.
var drifted = map[string]func(*types.VpcEndpoint){
	"SubnetIds": func(e *types.VpcEndpoint) { e.SubnetIds = []string{"a2"} },
	"Groups": func(e *types.VpcEndpoint) {
		e.Groups = append(e.Groups, types.SecurityGroupIdentifier{GroupId: aws.String("sg-2")})
	},
	"PolicyDocument":    func(e *types.VpcEndpoint) { e.PolicyDocument = aws.String(`{"Statement":[]}`) },
	"PrivateDnsEnabled": func(e *types.VpcEndpoint) { e.PrivateDnsEnabled = aws.Bool(true) },
	"IpAddressType":     func(e *types.VpcEndpoint) { e.IpAddressType = types.IpAddressTypeDualstack },
}

func asDesired() types.VpcEndpoint {
	return types.VpcEndpoint{
		SubnetIds: []string{"a1"}, Groups: []types.SecurityGroupIdentifier{{GroupId: aws.String("sg-1")}}, IpAddressType: types.IpAddressTypeIpv4,
		PolicyDocument: aws.String(`{"Statement":[{"Action":"*","Effect":"Allow","Principal":"*","Resource":"*"}]}`), PrivateDnsEnabled: aws.Bool(false),
	}
}

func TestDriftOfEachAttributeIsFound(t *testing.T) {
	spec := Spec{Subnets: []string{"a1"}, Groups: []string{"sg-1"}, ZoneOf: zoneOf}
	if change, _ := diff(spec, Read(asDesired())); change != nil {
		t.Fatalf("changed without drift: %s", describe(change))
	}
	for isSetting, attributes := range map[bool][]attribute{false: connectivity, true: settings} {
		for _, a := range attributes {
			e := asDesired()
			drift := drifted[a.Name]
			if drift == nil {
				t.Errorf("no test for drift of %s", a.Name)
				continue
			}
			drift(&e)
			change, setting := diff(spec, Read(e))
			if change == nil || describe(change) == "" || setting != isSetting {
				t.Errorf("drift of %s: change %v, setting %v", a.Name, change, setting)
			}
			e.SubnetIds = []string{"b1"}
			if _, setting := diff(spec, Read(e)); setting {
				t.Errorf("%s is repaired before the subnets", a.Name)
			}
		}
	}
}

func TestIsFullAccess(t *testing.T) {
	for policy, want := range map[string]bool{
		"": true,
		`{"Statement":[{"Action":"*","Effect":"Allow","Principal":"*","Resource":"*"}]}`:                                  true,
		`{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"*"},"Action":["*"],"Resource":"*"}]}`: true,
		`{"Statement":[]}`: false,
		`{"Statement":[{"Action":"*","Effect":"Deny","Principal":"*","Resource":"*"}]}`:                                                                false,
		`{"Statement":[{"Action":"execute-api:*","Effect":"Allow","Principal":"*","Resource":"*"}]}`:                                                   false,
		`{"Statement":[{"Action":"*","Effect":"Allow","Principal":{"AWS":"111111111111"},"Resource":"*"}]}`:                                            false,
		`{"Statement":[{"Action":"*","Effect":"Allow","Principal":"*","Resource":"*","Condition":{"StringEquals":{"aws:PrincipalAccount":"1"}}}]}`:     false,
		`{"Statement":[{"Action":"*","Effect":"Allow","Principal":"*","Resource":"*"},{"Action":"*","Effect":"Deny","Principal":"*","Resource":"*"}]}`: false,
		`no JSON`: false,
	} {
		if got := isFullAccess(policy); got != want {
			t.Errorf("%s is full access: %v", policy, got)
		}
	}
}
