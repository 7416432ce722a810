package iamrole

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hosted-control-planes/hypershift/config/iam"
)

// Unknown is in the plan where an id in a policy is not known yet.
const Unknown = "(known later)"

// Document returns a policy with the statements.
func Document(statements ...any) string {
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": statements})
	if err != nil {
		panic(err) // strings, maps and lists always marshal
	}
	return Normalize(string(text))
}

// Normalize makes policies comparable: IAM keeps a policy as it was written, and a list with one value means the value.
func Normalize(policy string) string {
	var parsed any
	if json.Unmarshal([]byte(policy), &parsed) != nil {
		return policy
	}
	text, err := json.Marshal(simplify(parsed))
	if err != nil {
		return policy
	}
	return string(text)
}

func simplify(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = simplify(v[k])
		}
	case []any:
		for i := range v {
			v[i] = simplify(v[i])
		}
		if len(v) == 1 {
			return v[0]
		}
	}
	return v
}

// Fill returns a policy of config/iam for a partition, with its variables replaced.
func Fill(file, partition string, variables map[string]string) (string, error) {
	text, err := iam.Fill(file, variables)
	if err != nil {
		return "", fmt.Errorf("filling the policy: %w", err)
	}
	return Normalize(InPartition(text, partition)), nil
}

// InPartition returns a policy with the ARNs of a partition. Templates have ARNs of the partition aws.
func InPartition(policy, partition string) string {
	if partition == "" {
		return policy
	}
	return strings.ReplaceAll(policy, "arn:aws:", "arn:"+partition+":")
}
