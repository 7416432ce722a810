package vpc

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/hosted-control-planes/hypershift/test/awsemulator"
)

func TestMetadataIsATree(t *testing.T) {
	items, err := newTree(awsemulator.NetworkInterface{Address: netip.MustParseAddr("10.1.0.6")}, &Metadata{
		ID: "i-1", Zone: "us-east-1a", Type: "m5.large", Image: "ami-1", Hostname: "ip-10-1-0-6.ec2.internal", Role: "node", UserData: []byte("#cloud-config"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path, want string
		found      bool
	}{
		"an item":                           {"/latest/meta-data/instance-id", "i-1", true},
		"an item of another version":        {"/2021-03-23/meta-data/placement/region", "us-east-1", true},
		"the user data":                     {"/2019-10-01/user-data", "#cloud-config", true},
		"the top":                           {"/latest/", "dynamic/\nmeta-data/\nuser-data", true},
		"a directory lists its directories": {"/latest/meta-data/", "ami-id\nhostname\niam/\ninstance-id\ninstance-type\nlocal-hostname\nlocal-ipv4\nplacement/", true},
		"a directory without its slash":     {"/latest/meta-data/placement", "availability-zone\nregion", true},
		"the roles":                         {"/latest/meta-data/iam/security-credentials/", "node", true},
		"an unknown item":                   {"/latest/meta-data/instance", "", false},
		"an unknown version":                {"/first/meta-data/instance-id", "", false},
		"no version":                        {"/meta-data/instance-id", "", false},
	} {
		if text, found := items.find(c.path); text != c.want || found != c.found {
			t.Errorf("%s: %s is %q, %v, want %q", name, c.path, text, found, c.want)
		}
	}
	text, _ := items.find("/latest/dynamic/instance-identity/document")
	var identity struct{ Region, InstanceID string }
	if err := json.Unmarshal([]byte(text), &identity); err != nil || identity.Region != "us-east-1" || identity.InstanceID != "i-1" {
		t.Errorf("the identity document is %s, %v", text, err)
	}
}

func TestInstanceWithoutUserDataHasNone(t *testing.T) {
	items, err := newTree(awsemulator.NetworkInterface{}, &Metadata{})
	if err != nil {
		t.Fatal(err)
	}
	if text, found := items.find("/latest/user-data"); found {
		t.Errorf("the user data is %q", text)
	}
}
