package fakeaws

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// page holds a caller's paging parameters.
type page struct {
	max   *int32
	token *string
	least int32 // the smallest MaxResults the operation takes; EC2 has 5 for most
}

// paginate walks on from the token and returns the next items that are wanted.
func paginate[T resource](q *request, items []T, p page, wanted func(T) bool) ([]T, *string, error) {
	limit := q.cloud.pageSize
	if p.max != nil {
		if *p.max < p.least {
			return nil, nil, ec2Error("InvalidParameterValue", fmt.Sprintf("Value ( %d ) for parameter maxResults is invalid. Expecting a value greater than or equal to %d.", *p.max, p.least))
		}
		limit = min(limit, int(*p.max))
	}
	after, err := p.after(q)
	if err != nil {
		return nil, nil, err
	}
	var out []T
	for _, item := range items {
		sequence := item.base().sequence
		if sequence <= after || !wanted(item) {
			continue
		}
		if len(out) == limit {
			return out, q.token(out[len(out)-1].base().sequence), nil
		}
		out = append(out, item)
	}
	return out, nil, nil
}

// token names the last item that was returned, for the operation that returned it.
func (q *request) token(sequence int) *string {
	return aws.String(base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s %d", q.operation, sequence)))
}

func (p page) after(q *request) (int, error) {
	if aws.ToString(p.token) == "" {
		return 0, nil
	}
	raw, err := base64.StdEncoding.DecodeString(*p.token)
	if err == nil {
		var sequence int
		operation, number, _ := strings.Cut(string(raw), " ")
		sequence, err = strconv.Atoi(number)
		if err == nil && operation == q.operation {
			return sequence, nil
		}
	}
	return 0, ec2Error("InvalidNextToken", "The specified NextToken is not valid")
}
