package oidc

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

func TestDocumentsAreReadAgainAfterTheirLifetime(t *testing.T) {
	const region, account, bucket = "us-east-1", "111111111111", "documents"
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	cloud := fakeaws.New(clock).FailOn(t)
	cloud.Account(account).AddBucket(region, bucket)
	p := NewPublisher(oidcdocs.New(oidcdocs.NewClient(cloud.Account(account).Config(region, "hypershift-operator")), bucket), clock, time.Hour)
	issuer := Issuer{UID: "uid-1", URL: "https://documents.s3.us-east-1.amazonaws.com/demo-x", InfraID: "demo-x"}
	site := func(keys string) oidcdocs.Site {
		s := emptySite(issuer)
		s.Documents[webidentity.DiscoveryPath], s.Documents[webidentity.JWKSPath] = []byte("{}"), []byte(keys)
		return s
	}
	calls := func(s oidcdocs.Site) int {
		t.Helper()
		cloud.ForgetCalls()
		if _, err := p.Publish(t.Context(), issuer, s, func(context.Context) error { return nil }); err != nil {
			t.Fatal(err)
		}
		return len(cloud.Calls())
	}
	if calls(site("old")) == 0 {
		t.Fatal("nothing is published")
	}
	if n := calls(site("old")); n > 0 {
		t.Errorf("%d calls for documents that were just published", n)
	}
	if calls(site("new")) == 0 {
		t.Error("other documents are not published")
	}
	clock.Step(90 * time.Minute)
	if calls(site("new")) == 0 {
		t.Error("the documents are not read again")
	}
	if err := p.Remove(t.Context(), issuer); err != nil {
		t.Fatal(err)
	}
	if n := p.observed.Len(); n > 0 {
		t.Errorf("%d clusters are cached after the last one was removed", n)
	}
}
