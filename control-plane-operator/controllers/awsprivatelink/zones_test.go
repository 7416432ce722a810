package awsprivatelink

import (
	"testing"
	"time"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/awsx"
)

func (w *testEnv) openAccount() *account {
	w.T.Helper()
	w.start()
	r := &Reconciler{Options: Options{Sessions: w.sessions, Clock: w.Clock}}
	a, err := r.open(w.T.Context(), hyperv1.AWSEndpointCleanup{
		HostedControlPlane: "demo", OwnerUID: "owner", Region: region, VPC: w.vpc, IssuerURL: issuer, RoleARN: w.role,
	})
	w.Must(err)
	return a
}

func TestAHostedZoneIsCheckedAgainAfterItsLifetime(t *testing.T) {
	w := newTestEnv(t)
	a := w.openAccount()
	for name, given := range map[string]string{"found": "", "given by the user": w.zone} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []struct {
				after  time.Duration
				called bool
			}{{0, true}, {awsx.HostedZoneTTL - time.Second, false}, {time.Second, true}} {
				w.Clock.Step(step.after)
				w.calls()
				id, err := a.zone(t.Context(), given)
				w.Must(err)
				if id != w.zone {
					t.Errorf("zone %q, want %q", id, w.zone)
				}
				if total, what := w.calls(); total > 0 != step.called {
					t.Errorf("after %s: %s", step.after, what)
				}
			}
		})
	}
}

// Users write the id of the zone, and may write others all the time.
func TestHostedZonesThatUsersWriteDoNotFillTheCache(t *testing.T) {
	w := newTestEnv(t)
	a := w.openAccount()
	for range 2 * maxZones {
		if _, err := a.zone(t.Context(), w.addZone(w.vpc)); err != nil {
			t.Fatal(err)
		}
	}
	if got := a.zones.Len(); got != maxZones {
		t.Errorf("it has %d zones, want %d", got, maxZones)
	}
}
