package awsemulator_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/hosted-control-planes/hypershift/test/awsrules"
)

// operationsWithoutARow stand for the rules of all other operations.
var operationsWithoutARow = map[string]string{"ec2-requests-reading": "DescribeVpcs", "ec2-requests-changing": "CreateTags"}

func TestEC2ThrottlesEachOperation(t *testing.T) {
	for _, rule := range awsrules.All {
		if rule.Refill == 0 || rule.Service != "ec2" {
			continue
		}
		operation := operationsWithoutARow[rule.ID]
		if operation == "" {
			operation = rule.Operations[0]
		}
		t.Run(rule.ID, func(t *testing.T) {
			must(t, emulator.Enforce(t.Context(), rule.ID, true))
			t.Cleanup(func() { must(t, emulator.Enforce(context.WithoutCancel(t.Context()), rule.ID, false)) })
			account := emulator.NewAccount()
			t.Cleanup(func() {
				// The calls have no parameters, because only their number matters.
				_, err := emulator.TakeRefused(context.WithoutCancel(t.Context()), account)
				must(t, err)
			})
			// Calls take time, in which the bucket gets tokens.
			count := int(rule.Limit*3 + 5)
			statuses := make([]int, count)
			var calls sync.WaitGroup
			for i := range statuses {
				calls.Go(func() { statuses[i] = call(t, account, operation) })
			}
			calls.Wait()
			throttled := 0
			for _, status := range statuses {
				if status == http.StatusServiceUnavailable {
					throttled++
				}
			}
			if throttled == 0 || throttled > count-int(rule.Limit) {
				t.Errorf("%d of %d calls of %s were throttled; the bucket has %v tokens", throttled, count, operation, rule.Limit)
			}
			if status := call(t, account, "DescribeRegions"); status == http.StatusServiceUnavailable {
				t.Error("another operation is throttled, too")
			}
		})
	}
}

// call makes a call of EC2 without parameters, and returns the status of the answer.
func call(t *testing.T, account, operation string) int {
	t.Helper()
	body := url.Values{"Action": {operation}, "Version": {"2016-11-15"}}.Encode()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, emulator.URL, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	sum := sha256.Sum256([]byte(body))
	err = v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: account, SecretAccessKey: "any"}, request, hex.EncodeToString(sum[:]), "ec2", "us-east-1", time.Now())
	if err != nil {
		t.Error(err)
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return 0
	}
	response.Body.Close()
	return response.StatusCode
}

// A process that is killed while it sends a request has made no request: AWS ignores it, and no test fails for it.
func TestARequestThatIsCutOffIsNone(t *testing.T) {
	account := emulator.NewAccount()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(emulator.URL, "http://"))
	must(t, err)
	_, err = fmt.Fprintf(connection, "POST / HTTP/1.1\r\nHost: ec2\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n"+
		"Authorization: AWS4-HMAC-SHA256 Credential=%s/20260102/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=a\r\n\r\nVersion=", account)
	must(t, err)
	must(t, connection.(*net.TCPConn).CloseWrite())
	answer, _ := io.ReadAll(connection) // the emulator resets the connection
	must(t, connection.Close())
	if strings.Contains(string(answer), "InvalidAction") {
		t.Errorf("the answer is %s", answer)
	}
	refused, err := emulator.TakeRefused(t.Context(), account)
	must(t, err)
	equal(t, "refused requests", len(refused), 0)
	calls, err := emulator.CallsOf(t.Context(), account)
	must(t, err)
	equal(t, "calls", len(calls), 0)
}

// A test that repeats a command lifts a limit for its own account only.
func TestALimitIsLiftedForOneAccount(t *testing.T) {
	const rule = "ec2-requests-endpoints"
	must(t, emulator.Enforce(t.Context(), rule, true))
	t.Cleanup(func() { must(t, emulator.Enforce(context.WithoutCancel(t.Context()), rule, false)) })
	lifted, other := emulator.NewAccount(), emulator.NewAccount()
	must(t, emulator.Unlimit(t.Context(), lifted, rule))
	throttled := map[string]int{}
	for range 40 {
		for _, account := range []string{lifted, other} {
			if call(t, account, "CreateVpcEndpoint") == http.StatusServiceUnavailable {
				throttled[account]++
			}
		}
	}
	for _, account := range []string{lifted, other} {
		_, err := emulator.TakeRefused(t.Context(), account) // the calls have no parameters
		must(t, err)
	}
	if throttled[lifted] > 0 || throttled[other] == 0 {
		t.Errorf("throttled calls: %d with the lifted limit, %d in another account", throttled[lifted], throttled[other])
	}
	if err := emulator.Unlimit(t.Context(), lifted, "ec2-vpc-quota"); err == nil {
		t.Error("a rule that limits no requests was lifted")
	}
}
