package main

import (
	"slices"
	"testing"
)

func TestDifferences(t *testing.T) {
	endpoint := func(state string) thing {
		return thing{place: inCustomer, kind: "vpc endpoint", name: "vpce-1", state: state}
	}
	service := func(status, message string) thing {
		return thing{place: inKubernetes, kind: "AWSEndpointService", name: "a/b", conditions: map[string]condition{"AWSEndpointAvailable": {status, message}}}
	}
	for name, c := range map[string]struct {
		before, after picture
		want          []string
	}{
		"nothing happened": {
			before: picture{"e": endpoint("pending")}, after: picture{"e": endpoint("pending")},
		},
		"something appeared": {
			after: picture{"e": endpoint("pending")}, want: []string{"+ vpc endpoint vpce-1: pending"},
		},
		"its state changed": {
			before: picture{"e": endpoint("pending")}, after: picture{"e": endpoint("available")},
			want: []string{"~ vpc endpoint vpce-1: pending → available"},
		},
		"it is being deleted": {
			before: picture{"e": thing{kind: "Service", name: "a/b"}}, after: picture{"e": thing{kind: "Service", name: "a/b", dying: true}},
			want: []string{"~ Service a/b is being deleted"},
		},
		"it is gone": {
			before: picture{"e": endpoint("deleting")}, want: []string{"- vpc endpoint vpce-1"},
		},
		"a condition says what it waits for": {
			after: picture{"s": service("False", "the endpoint is pending")},
			want:  []string{"+ AWSEndpointService a/b", "… AWSEndpointService a/b: the endpoint is pending"},
		},
		"it says so once": {
			before: picture{"s": service("False", "the endpoint is pending")}, after: picture{"s": service("False", "the endpoint is pending")},
		},
		"a condition turned True": {
			before: picture{"s": service("False", "the endpoint is pending")}, after: picture{"s": service("True", "")},
			want: []string{"✓ AWSEndpointService a/b: the endpoint is available, and workers find it by name"},
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
