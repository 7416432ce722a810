package fakeaws

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts/types"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// IdentityProvider is an OpenID Connect provider of an account.
type IdentityProvider struct {
	Issuer    string   // its URL
	Audiences []string // the client ids
	JWKS      []byte   // its keys; if nil they are read where the issuer's documents say, from S3
}

// AddIdentityProvider makes the account trust an issuer's tokens.
func (a *Account) AddIdentityProvider(p IdentityProvider) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	a.providers[p.Issuer] = &p
}

// RemoveIdentityProvider ends that.
func (a *Account) RemoveIdentityProvider(issuer string) {
	a.cloud.mu.Lock()
	defer a.cloud.mu.Unlock()
	delete(a.providers, issuer)
}

func invalidToken(message string) error {
	return modelled(http.StatusBadRequest, &types.InvalidIdentityTokenException{Message: aws.String(message)})
}

// verify checks a token against the provider that the role's account has for its
// issuer: signature, times, audience. The trust policy of the role is checked later.
func (q *request) verify(account, token string) (*jwt.Claims, error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256})
	if err != nil {
		return nil, invalidToken("The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	claims := &jwt.Claims{}
	if err := parsed.UnsafeClaimsWithoutVerification(claims); err != nil {
		return nil, invalidToken("The ID Token provided is not a valid JWT.")
	}
	p := q.cloud.account(account).providers[claims.Issuer]
	if p == nil {
		return nil, invalidToken("No OpenIDConnect provider found in your account for " + claims.Issuer)
	}
	known := p.keys(q.cloud)
	if known == nil {
		return nil, invalidToken("Couldn't retrieve verification key from your identity provider,  please reference AssumeRoleWithWebIdentity documentation for requirements")
	}
	if err := parsed.Claims(known, claims); err != nil {
		return nil, invalidToken("Couldn't verify the signature of the token with the keys of your identity provider")
	}
	switch {
	case claims.Expiry == nil || claims.IssuedAt == nil:
		return nil, invalidToken("Missing a required claim: exp or iat")
	case !q.now.Before(claims.Expiry.Time()):
		return nil, modelled(http.StatusBadRequest, &types.ExpiredTokenException{Message: aws.String("Token expired: current date/time must be before the expiration date/time")})
	case q.now.Add(skew).Before(claims.IssuedAt.Time()):
		return nil, invalidToken("The token was issued in the future")
	case !slices.ContainsFunc(p.Audiences, claims.Audience.Contains):
		return nil, invalidToken("Incorrect token audience")
	}
	return claims, nil
}

// skew is how far the issuer's clock may be ahead of AWS's.
const skew = 5 * time.Minute

// keys returns the issuer's public keys, or nil if they cannot be had.
func (p *IdentityProvider) keys(c *Cloud) *jose.JSONWebKeySet {
	raw := p.JWKS
	if raw == nil {
		var discovery struct {
			Issuer string `json:"issuer"`
			JWKS   string `json:"jwks_uri"`
		}
		if json.Unmarshal(c.fetch(p.Issuer+"/.well-known/openid-configuration"), &discovery) != nil || discovery.Issuer != p.Issuer {
			return nil
		}
		raw = c.fetch(discovery.JWKS)
	}
	set := &jose.JSONWebKeySet{}
	if json.Unmarshal(raw, set) != nil || len(set.Keys) == 0 {
		return nil
	}
	return set
}

// fetch reads an object by its URL, https://<bucket>.s3.<region>.amazonaws.com/<key>
// or https://s3.<region>.amazonaws.com/<bucket>/<key>.
func (c *Cloud) fetch(address string) []byte {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	key := strings.TrimPrefix(u.Path, "/")
	name, _, virtual := strings.Cut(u.Host, ".s3.")
	if !virtual {
		name, key, _ = strings.Cut(key, "/")
	}
	if o := c.object(name, key); o != nil {
		return o.body
	}
	return nil
}
