package tokenminter

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// stsTimeout bounds one request. A token is replaced long before it expires.
const stsTimeout = 10 * time.Second

// sts calls AssumeRoleWithWebIdentity for one role. The request is not signed, so it needs no SDK; the SDK would be most of
// the sidecar's memory.
type sts struct {
	endpoint, roleARN string
	client            *http.Client
}

func newSTS(region, roleARN string) *sts {
	return &sts{endpoint: stsEndpoint(region, roleARN), roleARN: roleARN, client: &http.Client{Timeout: stsTimeout}}
}

// stsEndpoint returns AWS_ENDPOINT_URL_STS or AWS_ENDPOINT_URL, as every SDK does, or else the regional endpoint in the
// partition of the role.
func stsEndpoint(region, roleARN string) string {
	partition, _, _ := strings.Cut(strings.TrimPrefix(roleARN, "arn:"), ":")
	domain := cmp.Or(map[string]string{"aws-cn": "amazonaws.com.cn", "aws-iso": "c2s.ic.gov", "aws-iso-b": "sc2s.sgov.gov"}[partition], "amazonaws.com")
	return cmp.Or(os.Getenv("AWS_ENDPOINT_URL_STS"), os.Getenv("AWS_ENDPOINT_URL"), "https://sts."+region+"."+domain)
}

// trusts reports whether the trust policy of the role allows the token's subject. It returns an error when STS gives no
// answer, or an answer that does not decide this.
func (s *sts) trusts(ctx context.Context, token string) (bool, error) {
	form := url.Values{
		"Action": {"AssumeRoleWithWebIdentity"}, "Version": {"2011-06-15"}, "DurationSeconds": {"900"},
		"RoleArn": {s.roleARN}, "RoleSessionName": {Command}, "WebIdentityToken": {token},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return false, fmt.Errorf("calling STS for role %s: %w", s.roleARN, err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := s.client.Do(request)
	if err != nil {
		return false, fmt.Errorf("calling STS for role %s: %w", s.roleARN, err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return false, fmt.Errorf("reading the response of STS for role %s: %w", s.roleARN, err)
	}
	if answer.StatusCode == http.StatusOK {
		return true, nil
	}
	var refusal struct {
		Error struct{ Code, Message string }
	}
	_ = xml.Unmarshal(text, &refusal) // a proxy's response is not XML; its status is reported
	if refusal.Error.Code == "AccessDenied" {
		return false, nil
	}
	return false, fmt.Errorf("calling STS for role %s: %s %s: %s", s.roleARN, answer.Status, refusal.Error.Code, refusal.Error.Message)
}
