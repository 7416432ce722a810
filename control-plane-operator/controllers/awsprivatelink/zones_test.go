package awsprivatelink

import (
	"testing"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

func (e *customerNetwork) openAccount() *account {
	e.T.Helper()
	e.start()
	r := &Reconciler{Options: Options{Sessions: e.sessions, Clock: e.Clock}}
	a, err := r.open(e.T.Context(), hyperv1.AWSEndpointCleanup{
		HostedControlPlane: "demo", OwnerUID: "owner", Region: region, VPC: e.vpc, IssuerURL: issuer, RoleARN: e.role,
	})
	e.Must(err)
	return a
}

func TestAHostedZoneIsCheckedAgainAfterItsLifetime(t *testing.T) {
	e := newCustomerNetwork(t)
	a := e.openAccount()
	for name, given := range map[string]string{"found": "", "given by the user": e.zone} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []struct {
				after  time.Duration
				called bool
			}{{0, true}, {awsx.HostedZoneTTL - time.Second, false}, {time.Second, true}} {
				e.Clock.Step(step.after)
				e.calls()
				id, err := a.zone(t.Context(), given)
				e.Must(err)
				if id != e.zone {
					t.Errorf("zone %q, want %q", id, e.zone)
				}
				if total, what := e.calls(); total > 0 != step.called {
					t.Errorf("after %s: %s", step.after, what)
				}
			}
		})
	}
}

// Users write the id of the zone, and may write others all the time.
func TestHostedZonesThatUsersWriteDoNotFillTheCache(t *testing.T) {
	e := newCustomerNetwork(t)
	a := e.openAccount()
	for range 2 * maxZones {
		if _, err := a.zone(t.Context(), e.addZone(e.vpc)); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.zones.Len(); got != maxZones {
		t.Errorf("it has %d zones, want %d", got, maxZones)
	}
}
