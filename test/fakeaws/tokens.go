package fakeaws

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// tokenLife is how long EC2 remembers a ClientToken.
const tokenLife = 24 * time.Hour

type remembered struct {
	at    time.Time
	input string
	id    string
}

// idempotent returns the id that the first call with this token made, or "" if
// this is the first. The id is remembered even when the resource is gone since: a retry has no effect,
// so a token that depends on the owner alone makes no second resource.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-idempotency.html
func (q *request) idempotent(token *string, in any) (string, error) {
	if aws.ToString(token) == "" {
		return "", nil
	}
	if len(*token) > 64 {
		return "", ec2Error("InvalidParameterValue", "Value ("+*token+") for parameter clientToken is invalid. The maximum length is 64 characters.")
	}
	old, ok := q.account.tokens[q.tokenKey(*token)]
	if !ok || q.now.Sub(old.at) >= tokenLife {
		return "", nil
	}
	if old.input != fingerprint(in) {
		return "", ec2Error("IdempotentParameterMismatch", "The client token you have provided is associated with a resource that has different parameters")
	}
	return old.id, nil
}

func (q *request) remember(token *string, in any, id string) {
	if aws.ToString(token) != "" {
		q.account.tokens[q.tokenKey(*token)] = remembered{q.now, fingerprint(in), id}
	}
}

func (q *request) tokenKey(token string) string {
	return q.region.name + " " + q.operation + " " + token
}

// fingerprint is the input as text, because the caller may change it after the call.
func fingerprint(in any) string {
	text, err := json.Marshal(in)
	if err != nil {
		panic(fmt.Sprintf("fakeaws: %T is not data: %v", in, err))
	}
	return string(text)
}
