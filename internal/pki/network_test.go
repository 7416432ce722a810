package pki

import "testing"

func TestFirstAddressOfAServiceNetwork(t *testing.T) {
	for cidr, want := range map[string]string{
		"172.31.0.0/16":   "172.31.0.1",
		"172.31.0.77/16":  "172.31.0.1", // somebody wrote an address of it
		"10.0.0.248/29":   "10.0.0.249",
		"2001:db8::/112":  "2001:db8::1",
		"fd02:0:0::/125":  "fd02::1",
		"10.0.0.252/30":   "",
		"10.0.0.1/32":     "",
		"2001:db8::1/127": "",
		"10.0.0.0":        "",
		"":                "",
	} {
		got, err := FirstAddress(cidr)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: %s, %v; want %q", cidr, got, err, want)
		}
	}
}

func TestFirstCoveredHostOfACertificate(t *testing.T) {
	for name, c := range map[string]struct {
		names []string
		hosts []string
		want  string
	}{
		"the same name":                     {[]string{"a.example.com"}, []string{"a.example.com"}, "a.example.com"},
		"the same name in capitals":         {[]string{"A.EXAMPLE.COM"}, []string{"a.example.com"}, "a.example.com"},
		"a wildcard for one label":          {[]string{"*.example.com"}, []string{"a.example.com"}, "a.example.com"},
		"a wildcard is not for two":         {[]string{"*.example.com"}, []string{"a.b.example.com"}, ""},
		"a wildcard is not for the domain":  {[]string{"*.example.com"}, []string{"example.com"}, ""},
		"a wildcard does not end in a dot":  {[]string{"*."}, []string{"kubernetes"}, ""},
		"the first of the hosts, not names": {[]string{"b", "a"}, []string{"x", "a", "b"}, "a"},
		"another name":                      {[]string{"b.example.com"}, []string{"a.example.com"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := FirstCovered(c.names, c.hosts); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
