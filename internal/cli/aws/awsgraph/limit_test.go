package awsgraph

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

func TestCallsToEachServiceAreLimitedAcrossClients(t *testing.T) {
	var running, most atomic.Int64
	release, once := make(chan struct{}), sync.Once{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		if now == parallelCalls+1 {
			once.Do(func() { close(release) }) // the calls to EC2 that are allowed, and the one to STS
		}
		select {
		case <-release:
		case <-time.After(10 * time.Second):
		}
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	cfg := Limited(aws.Config{
		Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	})
	var calls sync.WaitGroup
	for range 3 * parallelCalls {
		calls.Go(func() { _, _ = ec2.NewFromConfig(cfg).DescribeVpcs(context.Background(), &ec2.DescribeVpcsInput{}) })
	}
	calls.Go(func() {
		_, _ = sts.NewFromConfig(cfg).GetCallerIdentity(context.Background(), &sts.GetCallerIdentityInput{})
	})
	calls.Wait()
	if got := most.Load(); got != parallelCalls+1 {
		t.Errorf("%d calls at once", got)
	}
}
