package main

import (
	"slices"
	"testing"
)

func TestDifferencesOfSnapshotsAreEvents(t *testing.T) {
	endpoint := func(state string) thing {
		return thing{place: inCustomer, kind: "vpc endpoint", name: "vpce-1", state: state}
	}
	service := func(status, message string) thing {
		return thing{place: inKubernetes, kind: "AWSEndpointService", name: "a/b", conditions: map[string]condition{"AWSEndpointAvailable": {status, message}}}
	}
	for name, c := range map[string]struct {
		before, after snapshot
		want          []string
	}{
		"nothing changed": {
			before: snapshot{"e": endpoint("pending")}, after: snapshot{"e": endpoint("pending")},
		},
		"a thing was created": {
			after: snapshot{"e": endpoint("pending")}, want: []string{"+ vpc endpoint vpce-1: pending"},
		},
		"its state changed": {
			before: snapshot{"e": endpoint("pending")}, after: snapshot{"e": endpoint("available")},
			want: []string{"~ vpc endpoint vpce-1: pending → available"},
		},
		"it is being deleted": {
			before: snapshot{"e": thing{kind: "Service", name: "a/b"}}, after: snapshot{"e": thing{kind: "Service", name: "a/b", dying: true}},
			want: []string{"~ Service a/b is being deleted"},
		},
		"it is deleted": {
			before: snapshot{"e": endpoint("deleting")}, want: []string{"- vpc endpoint vpce-1"},
		},
		"a condition has a new reason to wait": {
			after: snapshot{"s": service("False", "the endpoint is pending")},
			want:  []string{"+ AWSEndpointService a/b", "… AWSEndpointService a/b: the endpoint is pending"},
		},
		"an unchanged reason is not repeated": {
			before: snapshot{"s": service("False", "the endpoint is pending")}, after: snapshot{"s": service("False", "the endpoint is pending")},
		},
		"a condition turned True": {
			before: snapshot{"s": service("False", "the endpoint is pending")}, after: snapshot{"s": service("True", "")},
			want: []string{"✓ AWSEndpointService a/b: the endpoint is available, and its name resolves for workers"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range differences(c.before, c.after) {
				got = append(got, string(s.mark)+" "+s.text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
