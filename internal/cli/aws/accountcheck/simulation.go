package accountcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"golang.org/x/sync/errgroup"

	"github.com/hosted-control-planes/hypershift/internal/cli/aws/awsgraph"
	"github.com/hosted-control-planes/hypershift/internal/names"
)

// statement is a statement of a policy for users of the command line.
type statement struct {
	Sid              string
	Action, Resource texts
	Condition        map[string]map[string]texts
}

// texts is a text or a list of texts.
type texts []string

func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// Simulate returns the actions of a policy that the policies of the caller do not allow. A statement of the policy contains the
// resources and the values of the condition keys with which its actions are called. The boundaries of organizations are a part of the
// simulation; the policies of resources are not.
func Simulate(ctx context.Context, cfg aws.Config, caller awsgraph.Caller, policy string) (denied []string, _ error) {
	source, ok := principal(caller)
	if !ok {
		return nil, nil // the root user of an account has no policies
	}
	var document struct{ Statement []statement }
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	api := iam.NewFromConfig(cfg)
	var mu sync.Mutex
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, s := range document.Statement {
		group.Go(func() error {
			actions, err := s.simulate(groupCtx, api, source, caller.Account, cfg.Region)
			mu.Lock()
			defer mu.Unlock()
			denied = append(denied, actions...)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("simulating the policies of %s: %w", source, err)
	}
	slices.Sort(denied)
	return slices.Compact(denied), nil
}

// parallel is how many simulations run at once. IAM throttles more.
const parallel = 4

// simulate returns the actions of the statement that the policies of source do not allow.
func (s statement) simulate(ctx context.Context, api *iam.Client, source, account, region string) (denied []string, _ error) {
	pages := iam.NewSimulatePrincipalPolicyPaginator(api, &iam.SimulatePrincipalPolicyInput{
		PolicySourceArn: aws.String(source), ActionNames: s.Action, ResourceArns: resources(s.Resource, account, region), ContextEntries: s.context(),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page.EvaluationResults {
			if r.EvalDecision != types.PolicyEvaluationDecisionTypeAllowed && !slices.ContainsFunc(r.MissingContextValues, mayBeRight) {
				denied = append(denied, aws.ToString(r.EvalActionName))
			}
		}
	}
	return denied, nil
}

// mayBeRight is true for a condition key that the simulation has no value for, and that may match in the call. The owner tag of
// another cluster is never right.
func mayBeRight(key string) bool {
	return !strings.Contains(strings.ToLower(key), "/"+names.ClusterTag(""))
}

// principal returns the user or the role of a caller. The path of a role is not in the ARN of its sessions.
func principal(caller awsgraph.Caller) (string, bool) {
	parts := strings.SplitN(caller.ARN, ":", 6)
	if len(parts) < 6 {
		return "", false
	}
	if rest, ok := strings.CutPrefix(parts[5], "assumed-role/"); ok {
		role, _, _ := strings.Cut(rest, "/")
		return fmt.Sprintf("arn:%s:iam::%s:role/%s", caller.Partition, caller.Account, role), true
	}
	return caller.ARN, strings.HasPrefix(parts[5], "user/")
}

// resources replaces the wildcards of patterns, so that each is the ARN of one resource.
func resources(patterns []string, account, region string) (all []string) {
	for _, p := range patterns {
		parts := strings.SplitN(p, ":", 6)
		if len(parts) < 6 {
			all = append(all, p)
			continue
		}
		if parts[3] == "*" {
			parts[3] = region
		}
		if parts[4] == "*" {
			parts[4] = account
		}
		all = append(all, strings.ReplaceAll(strings.Join(parts, ":"), "*", "example"))
	}
	return all
}

// context returns the values of the condition keys of a statement. Conditions that exclude a value have none.
func (s statement) context() (entries []types.ContextEntry) {
	for _, operator := range slices.Sorted(maps.Keys(s.Condition)) {
		if strings.Contains(operator, "Not") || operator == "Null" {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(s.Condition[operator])) {
			values := s.Condition[operator][key]
			kind := types.ContextKeyTypeEnumString
			if len(values) > 1 || strings.Contains(operator, ":") {
				kind = types.ContextKeyTypeEnumStringList
			}
			concrete := make([]string, len(values))
			for i, v := range values {
				concrete[i] = strings.ReplaceAll(v, "*", "example")
			}
			entries = append(entries, types.ContextEntry{ContextKeyName: aws.String(key), ContextKeyType: kind, ContextKeyValues: concrete})
		}
	}
	return entries
}
