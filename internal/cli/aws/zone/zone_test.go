package zone

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

// described are the zones of one account, and the other entries of EC2's list.
func described() []types.AvailabilityZone {
	zone := func(name, id, kind string, optIn types.AvailabilityZoneOptInStatus, state types.AvailabilityZoneState) types.AvailabilityZone {
		return types.AvailabilityZone{ZoneName: aws.String(name), ZoneId: aws.String(id), ZoneType: aws.String(kind), OptInStatus: optIn, State: state}
	}
	const kind, always, available = "availability-zone", types.AvailabilityZoneOptInStatusOptInNotRequired, types.AvailabilityZoneStateAvailable
	return []types.AvailabilityZone{
		zone("us-east-1b", "use1-az1", kind, always, available),
		zone("us-east-1a", "use1-az4", kind, always, available),
		zone("us-east-1c", "use1-az2", kind, always, types.AvailabilityZoneStateUnavailable),
		zone("us-east-1d", "use1-az3", kind, types.AvailabilityZoneOptInStatusNotOptedIn, available),
		zone("us-east-1-bos-1a", "use1-bos1-az1", "local-zone", types.AvailabilityZoneOptInStatusOptedIn, available),
	}
}

func TestZonesAreResolvedByNameAndByID(t *testing.T) {
	all := New(described())
	for name, c := range map[string]struct {
		given []string
		want  []string
		err   string
	}{
		"names and ids, in their order":         {given: []string{"use1-az1", "us-east-1a"}, want: []string{"us-east-1b", "us-east-1a"}},
		"a zone that the account does not have": {given: []string{"us-east-1x"}, err: "zone us-east-1x does not exist in region us-east-1 for this account; it has us-east-1a (use1-az4), us-east-1b (use1-az1)"},
		"an id of another region":               {given: []string{"euw1-az1"}, err: "euw1-az1 does not exist"},
		"a zone twice":                          {given: []string{"us-east-1b", "use1-az1"}, err: "us-east-1b and use1-az1 are the same zone"},
		"a zone that is down":                   {given: []string{"use1-az2"}, err: "zone us-east-1c (use1-az2) has the state unavailable"},
		"a zone that is not enabled":            {given: []string{"us-east-1d"}, err: "is not enabled for this account"},
		"a Local Zone":                          {given: []string{"us-east-1-bos-1a"}, err: "is of the type local-zone"},
	} {
		found, err := all.Resolve("us-east-1", c.given)
		if c.err == "" && (err != nil || !slices.Equal(found.Names(), c.want)) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

func TestZonesAreComparedByID(t *testing.T) {
	usable := New(described()).Usable()
	if got := usable.Of([]string{"use1-az1", "use1-az6"}).String(); got != "us-east-1b (use1-az1)" {
		t.Errorf("Of: %s", got)
	}
	if got := usable.Without([]string{"use1-az1"}).Names(); !slices.Equal(got, []string{"us-east-1a"}) {
		t.Errorf("Without: %v", got)
	}
}

// The ids are of https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-availability-zones.html.
func TestIDsOfZonesAreNotNames(t *testing.T) {
	for _, id := range []string{"use1-az1", "apne1-az4", "usgw1-az1", "usge1-az3", "cnn1-az1", "cnnw1-az2", "mec1-az1", "use1-bos1-az1", "apse7-az2", "usw2-wl1-las-wlz1-az1"} {
		if !IsID(id) {
			t.Errorf("%s is an id", id)
		}
	}
	for _, name := range []string{"us-east-1a", "us-gov-west-1a", "us-east-1-bos-1a", "cn-north-1a", "use1", "us-east-1"} {
		if IsID(name) {
			t.Errorf("%s is no id", name)
		}
	}
}
