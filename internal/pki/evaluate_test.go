package pki

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

var (
	now  = time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	want = Request{User: "kubernetes", Groups: []string{"b", "a"}, Usage: Server, Hosts: []string{"kubernetes", "10.0.0.1", "2001:db8::1"}}
)

func authority(t testing.TB, name string) *Authority {
	t.Helper()
	a, err := NewAuthority(name, now)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t testing.TB, by *Authority, want Request, terms Terms, at time.Time) *Leaf {
	t.Helper()
	l, err := by.Issue(want, terms, at)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestAnUnusableCertificateIsReplaced(t *testing.T) {
	const day = 24 * time.Hour
	ours, other := authority(t, "root-ca"), authority(t, "root-ca")
	good := issue(t, ours, want, DefaultTerms, now).Data(nil)
	with := func(key, value string) map[string][]byte {
		data := maps.Clone(good)
		data[key] = []byte(value)
		return data
	}
	asked := func(change func(*Request)) Request {
		r := want
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		data map[string][]byte
		want Request // as above if it has no user
		at   time.Time
		says string
	}{
		"nothing, it was just made":   {data: good, at: now},
		"nothing, eight months later": {data: good, at: now.Add(243 * day)},
		"nothing, if hosts are spelled in another way": {data: good, at: now, want: asked(func(r *Request) {
			r.Hosts = []string{"2001:DB8:0::1", "::ffff:10.0.0.1", "Kubernetes.", "kubernetes", ""}
		})},
		"nothing, if groups come in another order":     {data: good, at: now, want: asked(func(r *Request) { r.Groups = []string{"a", "b"} })},
		"a third of its life is left":                  {data: good, at: now.Add(244 * day), says: "it is time to renew it"},
		"its life is over":                             {data: good, at: now.Add(365 * day), says: "it has expired"},
		"nothing, if another clock is 10 minutes slow": {data: good, at: now.Add(-10 * time.Minute)},
		"somebody has set the clock back":              {data: good, at: now.Add(-day), says: "it is not valid yet"},
		"it is for longer than is asked for now":       {data: issue(t, ours, want, Terms{Validity: 700 * day, Renewal: 0.1}, now).Data(nil), at: now, says: "it is valid for longer than is asked for"},
		"there is no Secret":                           {at: now, says: "there is none"},
		"the certificate is no PEM":                    {data: with(corev1.TLSCertKey, "garbage"), at: now, says: "its certificate cannot be read: it has no certificate in PEM"},
		"the certificate is gone":                      {data: with(corev1.TLSCertKey, ""), at: now, says: "its certificate cannot be read: it has no certificate in PEM"},
		"the key is no PEM":                            {data: with(corev1.TLSPrivateKeyKey, "garbage"), at: now, says: "its key cannot be read: it is not a private key in PEM"},
		"the key is cut off":                           {data: with(corev1.TLSPrivateKeyKey, string(good[corev1.TLSPrivateKeyKey][:100])), at: now, says: "its key cannot be read: it is not a private key in PEM"},
		"the key is where the certificate should be":   {data: with(corev1.TLSCertKey, string(good[corev1.TLSPrivateKeyKey])), at: now, says: "its certificate cannot be read: it has a PEM block of type PRIVATE KEY beside the certificates"},
		"the key is another":                           {data: with(corev1.TLSPrivateKeyKey, string(issue(t, ours, want, DefaultTerms, now).KeyPEM)), at: now, says: "its key is not that of its certificate"},
		"an authority of the same name has signed it":  {data: issue(t, other, want, DefaultTerms, now).Data(nil), at: now, says: "it was signed by another authority"},
		"an authority of another name has signed it":   {data: issue(t, authority(t, "etcd-signer"), want, DefaultTerms, now).Data(nil), at: now, says: "it was signed by another authority"},
		"its user is another":                          {data: good, at: now, want: asked(func(r *Request) { r.User = "admin" }), says: `it is made out to "kubernetes" and not to "admin"`},
		"a group was added":                            {data: good, at: now, want: asked(func(r *Request) { r.Groups = []string{"a", "b", "c"} }), says: "its groups are a, b and have to be a, b, c"},
		"all groups were taken away":                   {data: good, at: now, want: asked(func(r *Request) { r.Groups = nil }), says: "its groups are a, b and have to be none"},
		"a name was added":                             {data: good, at: now, want: asked(func(r *Request) { r.Hosts = append(r.Hosts[:3:3], "api.example.com") }), says: "its names are kubernetes and have to be api.example.com, kubernetes"},
		"an address was taken away":                    {data: good, at: now, want: asked(func(r *Request) { r.Hosts = r.Hosts[:2] }), says: "its addresses are 10.0.0.1, 2001:db8::1 and have to be 10.0.0.1"},
		"an address takes the place of a name like it": {data: issue(t, ours, asked(func(r *Request) { r.Hosts = r.Hosts[:1] }), DefaultTerms, now).Data(nil), at: now, says: "its addresses are none and have to be 10.0.0.1, 2001:db8::1"},
		"it is to be shown by clients, too":            {data: good, at: now, want: asked(func(r *Request) { r.Usage = Server | Client }), says: "it is made out for another usage"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want.User == "" {
				c.want = want
			}
			stays, says := Evaluate(c.data, c.want, ours, DefaultTerms, c.at)
			if says != c.says || (stays != nil) != (c.says == "") {
				t.Errorf("says %q and keeps %v, want %q", says, stays != nil, c.says)
			}
		})
	}
}

// A certificate that does not satisfy its own request would be issued again in every pass, for ever.
func TestAnIssuedCertificateStays(t *testing.T) {
	by := authority(t, "root-ca")
	for _, hosts := range [][]string{
		nil, {""}, {"a", "A", "a."}, {"*.etcd-discovery.ns.svc"}, {"127.0.0.1", "::1", "::ffff:127.0.0.1"},
		{"2001:db8::1", "2001:db8:0:0::1"}, {"fd00::1", "172.20.0.1"}, {"fe80::1%eth0"}, {"10.0.0.1."},
	} {
		for _, terms := range []Terms{DefaultTerms, {Validity: time.Second, Renewal: 0.9}, {Validity: 30 * 365 * 24 * time.Hour, Renewal: 0.1}} {
			request := Request{User: "u", Usage: Server, Hosts: hosts}
			leaf := issue(t, by, request, terms, now)
			if _, why := Evaluate(leaf.Data(nil), request, by, terms, now); why != "" {
				t.Errorf("%q: %s", hosts, why)
			}
			if leaf.Certificate.NotAfter.After(by.Certificate.NotAfter) {
				t.Errorf("%q outlives its authority", hosts)
			}
			if !leaf.Certificate.NotBefore.Equal(now.Add(-backdate).Truncate(time.Second)) {
				t.Errorf("is valid from %s on: a clock that is behind refuses it", leaf.Certificate.NotBefore)
			}
		}
	}
}

func TestAnInvalidRequestIsAnError(t *testing.T) {
	by := authority(t, "root-ca")
	for name, c := range map[string]struct {
		request Request
		terms   Terms
	}{
		"a name that no certificate can have": {Request{User: "u", Usage: Server, Hosts: []string{"ümlaut.example.com"}}, DefaultTerms},
		"a certificate for no time":           {Request{User: "u", Usage: Client}, Terms{}},
		"one that is due when it is made":     {Request{User: "u", Usage: Client}, Terms{Validity: time.Hour, Renewal: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := by.Issue(c.request, c.terms, now); err == nil {
				t.Error("it was made, and would be made again in every pass")
			}
		})
	}
}
