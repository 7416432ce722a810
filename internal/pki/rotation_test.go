package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"testing"
	"time"
)

const (
	propagation = 5 * time.Minute
	year        = 365 * 24 * time.Hour
)

func TestARotationHasThreeSteps(t *testing.T) {
	type step struct {
		after      time.Duration
		asked      string
		rolledOut  bool
		want       Turn
		trusted    int
		newSigns   bool
		sincePause time.Duration // how long Due wants to wait
	}
	for name, c := range map[string]struct {
		lives time.Duration
		steps []step
	}{
		"one that nobody asks for does not begin": {steps: []step{
			{rolledOut: true, trusted: 1, sincePause: authorityLife * 2 / 3},
			{after: year, rolledOut: true, trusted: 1, sincePause: authorityLife*2/3 - year},
		}},
		"one step after the other, each rolled out and propagated": {steps: []step{
			{asked: "1", rolledOut: true, want: Introduced, trusted: 2, sincePause: propagation},
			{after: propagation, asked: "1", trusted: 2, sincePause: propagation},
			{after: -time.Second, asked: "1", rolledOut: true, trusted: 2, sincePause: time.Second},
			{after: time.Second, asked: "1", rolledOut: true, want: Switched, trusted: 2, newSigns: true, sincePause: propagation},
			{after: propagation - time.Second, asked: "1", rolledOut: true, trusted: 2, newSigns: true, sincePause: time.Second},
			{after: time.Second, asked: "1", trusted: 2, newSigns: true, sincePause: propagation},
			{asked: "1", rolledOut: true, want: Finished, trusted: 1, newSigns: true, sincePause: authorityLife*2/3 - 2*propagation},
			{asked: "1", rolledOut: true, trusted: 1, newSigns: true, sincePause: authorityLife*2/3 - 2*propagation},
		}},
		"the request is taken back on the way": {steps: []step{
			{asked: "1", rolledOut: true, want: Introduced, trusted: 2, sincePause: propagation},
			{after: propagation, rolledOut: true, want: Switched, trusted: 2, newSigns: true, sincePause: propagation},
			{after: propagation, rolledOut: true, want: Finished, trusted: 1, newSigns: true, sincePause: authorityLife*2/3 - 2*propagation},
			{asked: "1", rolledOut: true, trusted: 1, newSigns: true, sincePause: authorityLife*2/3 - 2*propagation},
		}},
		"another request waits for the end of the first": {steps: []step{
			{asked: "1", rolledOut: true, want: Introduced, trusted: 2, sincePause: propagation},
			{after: propagation, asked: "2", rolledOut: true, want: Switched, trusted: 2, newSigns: true, sincePause: propagation},
			{asked: "2", rolledOut: true, trusted: 2, newSigns: true, sincePause: propagation},
			{after: propagation, asked: "2", rolledOut: true, want: Finished, trusted: 1, newSigns: true, sincePause: authorityLife*2/3 - 2*propagation},
			{asked: "2", rolledOut: true, want: Introduced, trusted: 2, newSigns: true, sincePause: propagation},
		}},
		"who has signed for others is trusted for as long as that is valid": {lives: year, steps: []step{
			{asked: "1", rolledOut: true, want: Introduced, trusted: 2, sincePause: propagation},
			{after: propagation, asked: "1", rolledOut: true, want: Switched, trusted: 2, newSigns: true, sincePause: propagation},
			{after: propagation, asked: "1", rolledOut: true, trusted: 2, newSigns: true, sincePause: year - propagation},
			{after: propagation, asked: "2", rolledOut: true, want: Introduced, trusted: 3, newSigns: true, sincePause: propagation},
			{after: propagation, asked: "2", rolledOut: true, want: Switched, trusted: 3, newSigns: true, sincePause: propagation},
			{after: year, asked: "2", rolledOut: true, want: Finished, trusted: 1, newSigns: true, sincePause: authorityLife*2/3 - year - propagation},
		}},
		"age begins one by itself": {steps: []step{
			{after: authorityLife * 2 / 3, rolledOut: true, want: Introduced, trusted: 2, sincePause: propagation},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, at := signer(t), now
			first := s.Current.Certificate
			for i, step := range c.steps {
				at = at.Add(step.after)
				timing := Timing{Propagation: propagation, Lives: c.lives}
				turn, err := s.Advance("root-ca", step.asked, step.rolledOut, timing, at)
				if err != nil {
					t.Fatal(err)
				}
				s = again(t, s)
				trusted, err := ParseBundle(s.Trust())
				if err != nil {
					t.Fatal(err)
				}
				if turn != step.want || len(trusted) != step.trusted || s.Current.Certificate.Equal(first) == step.newSigns {
					t.Fatalf("step %d: turn %q, %d trusted, the first one signs: %v; want %+v", i, turn, len(trusted), s.Current.Certificate.Equal(first), step)
				}
				if wait := s.Due(timing, at).Sub(at).Round(time.Second); wait != step.sincePause {
					t.Fatalf("step %d: looks again after %s, want %s", i, wait, step.sincePause)
				}
			}
		})
	}
}

// party is one end of a connection: its certificate, and its trusted authorities.
type party struct {
	leaf  *Leaf
	trust []byte
}

// A server and its clients do not get a new state of the Secrets at the same time. With any two states, of this turn or the turn before it,
// they can connect.
func TestEveryCertificateIsTrustedAtEveryStep(t *testing.T) {
	request := Request{User: "etcd-peer", Usage: Server | Client, Hosts: []string{"etcd-client", "10.0.0.1"}}
	s, at := signer(t), now
	state := func() party {
		leaf, err := s.Current.Issue(request, DefaultTerms, at)
		if err != nil {
			t.Fatal(err)
		}
		return party{leaf, s.Trust()}
	}
	before := state()
	first := before
	for _, want := range []Turn{Introduced, Switched, Finished} {
		at = at.Add(propagation)
		turn, err := s.Advance("etcd-signer", "now", true, Timing{Propagation: propagation}, at)
		if err != nil || turn != want {
			t.Fatalf("turn %q, %v; want %q", turn, err, want)
		}
		after := state()
		for _, server := range []party{before, after} {
			for _, client := range []party{before, after} {
				for _, host := range request.Hosts {
					if err := handshake(server, client, host, at); err != nil {
						t.Errorf("%s: a client does not understand a server as %s: %v", turn, host, err)
					}
				}
			}
		}
		before = after
	}
	for who, client := range map[string]party{"shows what the old authority has signed": {first.leaf, before.trust}, "trusts the old authority alone": {before.leaf, first.trust}} {
		if err := handshake(before, client, "etcd-client", at); err == nil {
			t.Errorf("who %s is still understood after the end", who)
		}
	}
}

// handshake is a real one, in which both ends show a certificate.
func handshake(server, client party, host string, at time.Time) error {
	pair := func(p party) tls.Certificate {
		c, err := tls.X509KeyPair(p.leaf.CertPEM, p.leaf.KeyPEM)
		if err != nil {
			panic(err)
		}
		return c
	}
	pool := func(text []byte) *x509.CertPool {
		p := x509.NewCertPool()
		p.AppendCertsFromPEM(text)
		return p
	}
	clock := func() time.Time { return at }
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	there := tls.Server(a, &tls.Config{Certificates: []tls.Certificate{pair(server)}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool(server.trust), Time: clock})
	here := tls.Client(b, &tls.Config{Certificates: []tls.Certificate{pair(client)}, RootCAs: pool(client.trust), ServerName: host, Time: clock})
	handshake := make(chan error, 1)
	go func() {
		err := there.Handshake()
		if err != nil {
			a.Close()
		}
		handshake <- err
	}()
	err := here.Handshake()
	b.Close() // all has been said; nobody would read an alert
	return errors.Join(err, <-handshake)
}
