package fakeaws

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
)

func init() {
	register(STS,
		read("GetCallerIdentity", (*request).getCallerIdentity),
		read("AssumeRole", (*request).assumeRole, "RoleArn", "RoleSessionName", "DurationSeconds", "ExternalId"),
		anonymous(read("AssumeRoleWithWebIdentity", (*request).assumeRoleWithWebIdentity, "RoleArn", "RoleSessionName", "WebIdentityToken", "DurationSeconds")),
	)
}

func anonymous(op *operation) *operation {
	op.anonymous = true
	return op
}

// Role is a role that can be assumed.
type Role struct {
	Name, Path string
	Trusts     []Trust // any one of them lets a caller in
}

// Trust is a statement of a role's trust policy: either for principals, or for
// the tokens of an issuer.
type Trust struct {
	Principals []string // ARNs; an account's root stands for everything in the account
	ExternalID string   // must be given if set

	Issuer    string   // URL of an identity provider of the role's account
	Subjects  []string // accepted sub claims; nil for all
	Audiences []string // accepted aud claims; nil for all the provider has
}

// AddRole makes a role, or replaces it, and returns its ARN.
func (a *Account) AddRole(r Role) string {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	a.roles[r.Name] = &r
	return "arn:aws:iam::" + a.id + ":role" + path(r.Path) + r.Name
}

func path(p string) string {
	if p = strings.Trim(p, "/"); p != "" {
		return "/" + p + "/"
	}
	return "/"
}

// RemoveRole takes a role away; its sessions go on until ExpireCredentials.
func (a *Account) RemoveRole(name string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	delete(a.roles, name)
}

func (q *request) getCallerIdentity(*sts.GetCallerIdentityInput) (*sts.GetCallerIdentityOutput, error) {
	return &sts.GetCallerIdentityOutput{Account: aws.String(q.identity.account), Arn: aws.String(q.arn), UserId: aws.String("AROA" + q.identity.account + ":" + q.role)}, nil
}

var roleARN = regexp.MustCompile(`^arn:aws[a-z-]*:iam::(\d{12}):role(/(?:.+/)?)([^/]+)$`)

// trusted finds the role and a trust in it. AWS does not distinguish a missing part from a wrong one: AccessDenied, without the reason.
func (q *request) trusted(arn *string, ok func(*Account, Trust) bool) (*Account, *Role, error) {
	m := roleARN.FindStringSubmatch(aws.ToString(arn))
	if m == nil {
		return nil, nil, refused(http.StatusBadRequest, "ValidationError", aws.ToString(arn)+" is invalid")
	}
	if a := q.cloud.accounts[m[1]]; a != nil {
		r := a.roles[m[3]]
		if r != nil && path(r.Path) == m[2] && slices.ContainsFunc(r.Trusts, func(t Trust) bool { return ok(a, t) }) {
			return a, r, nil
		}
	}
	return nil, nil, refused(http.StatusForbidden, "AccessDenied", "User: "+q.arn+" is not authorized to perform: sts:"+q.operation+" on resource: "+*arn)
}

func (q *request) assumeRole(in *sts.AssumeRoleInput) (*sts.AssumeRoleOutput, error) {
	a, r, err := q.trusted(in.RoleArn, func(_ *Account, t Trust) bool {
		who := slices.Contains(t.Principals, q.principal()) || slices.Contains(t.Principals, "arn:aws:iam::"+q.identity.account+":root")
		return who && t.ExternalID == aws.ToString(in.ExternalId)
	})
	if err != nil {
		return nil, err
	}
	creds, user := q.session(a, r, *in.RoleSessionName, in.DurationSeconds)
	return &sts.AssumeRoleOutput{Credentials: creds, AssumedRoleUser: user}, nil
}

func (q *request) assumeRoleWithWebIdentity(in *sts.AssumeRoleWithWebIdentityInput) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	account := ""
	if m := roleARN.FindStringSubmatch(*in.RoleArn); m != nil {
		account = m[1]
	}
	claims, err := q.verify(account, *in.WebIdentityToken)
	if err != nil {
		return nil, err
	}
	a, r, err := q.trusted(in.RoleArn, func(_ *Account, t Trust) bool {
		return t.Issuer == claims.Issuer &&
			(t.Subjects == nil || slices.Contains(t.Subjects, claims.Subject)) &&
			(t.Audiences == nil || slices.ContainsFunc(t.Audiences, claims.Audience.Contains))
	})
	if err != nil {
		return nil, err
	}
	creds, user := q.session(a, r, *in.RoleSessionName, in.DurationSeconds)
	return &sts.AssumeRoleWithWebIdentityOutput{
		Credentials: creds, AssumedRoleUser: user, Provider: aws.String(claims.Issuer),
		Audience: aws.String(claims.Audience[0]), SubjectFromWebIdentityToken: aws.String(claims.Subject),
	}, nil
}

// session issues credentials. They end by the real clock, because the SDK uses that clock when it decides to renew them.
func (q *request) session(a *Account, r *Role, name string, seconds *int32) (*types.Credentials, *types.AssumedRoleUser) {
	life := time.Hour
	if seconds != nil {
		life = time.Duration(*seconds) * time.Second
	}
	key := q.cloud.issue(a.id, r.Name, name)
	return &types.Credentials{
			AccessKeyId: aws.String(key), SecretAccessKey: aws.String("secret"), SessionToken: aws.String("token"), Expiration: aws.Time(time.Now().Add(life)),
		}, &types.AssumedRoleUser{
			Arn: aws.String(q.cloud.keys[key].arn), AssumedRoleId: aws.String(fmt.Sprintf("AROA%s:%s", a.id, name)),
		}
}
