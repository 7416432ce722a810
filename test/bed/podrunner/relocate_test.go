package podrunner

import "testing"

func TestRelocation(t *testing.T) {
	r := relocation{
		mounts: map[string]string{"/etc/aws": "/tmp/p/volumes/aws", "/etc/aws/token": "/tmp/p/volumes/token"},
		ports:  map[int32]int{8080: 41000},
	}
	for name, c := range map[string]struct{ in, want string }{
		"a mount path is rewritten":                            {"/etc/aws", "/tmp/p/volumes/aws"},
		"a file below a mount is rewritten":                    {"--credentials=/etc/aws/credentials", "--credentials=/tmp/p/volumes/aws/credentials"},
		"the inner of two mounts wins":                         {"/etc/aws/token/key", "/tmp/p/volumes/token/key"},
		"every path in a list is rewritten":                    {"/etc/aws/a:/etc/aws/b", "/tmp/p/volumes/aws/a:/tmp/p/volumes/aws/b"},
		"a path that only begins alike stays":                  {"/etc/aws-old/x", "/etc/aws-old/x"},
		"a path that only ends alike stays":                    {"/usr/etc/aws", "/usr/etc/aws"},
		"a declared port moves to loopback":                    {"--metrics=:8080", "--metrics=127.0.0.1:41000"},
		"a declared port on every address moves to loopback":   {"0.0.0.0:8080", "127.0.0.1:41000"},
		"a bare port is replaced":                              {"--port=8080", "--port=41000"},
		"a port that is not declared stays":                    {"--port=9090", "--port=9090"},
		"the address of another machine stays":                 {"--upstream=10.0.0.1:8080", "--upstream=10.0.0.1:8080"},
		"a number too large for a port is left alone":          {"--bytes=99999999999", "--bytes=99999999999"},
		"an argument with neither a mount nor a port is as is": {"--v=2", "--v=2"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.value(c.in); got != c.want {
				t.Errorf("value(%q) = %q, want %q", c.in, got, c.want)
			}
		})
	}
}
