package tokenminter

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

type claims struct {
	Issuer   string `json:"iss"`
	Subject  string `json:"sub"`
	Audience string `json:"aud"`
	Expires  int64  `json:"exp"`
}

// read decodes the token in the file.
func read(t *testing.T, file string) claims {
	t.Helper()
	token, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return claimsOf(t, string(token))
}

func claimsOf(t *testing.T, token string) claims {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is not a token", token)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// story runs a minter with a fake clock. Its key does not exist yet.
func story(t *testing.T, tell func(m *Minter, clk *clocktesting.FakeClock, bringKey func())) {
	key, _, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		clk := clocktesting.NewFakeClock(time.Unix(1_800_000_000, 0))
		m := &Minter{
			KeyFile: filepath.Join(dir, "key"), Issuer: "https://issuer.example.test", Subject: names.CAPIProviderSubject,
			Audience: names.WebIdentityAudience, File: filepath.Join(dir, "token"), Life: time.Hour, Clock: clk,
		}
		ctx, stop := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer stop()
		go func() { _ = m.Run(ctx) }()
		synctest.Wait()
		tell(m, clk, func() {
			if err := os.WriteFile(m.KeyFile, key, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func TestTokenIsRenewedLongBeforeItExpires(t *testing.T) {
	story(t, func(m *Minter, clk *clocktesting.FakeClock, bringKey func()) {
		bringKey()
		clk.Step(retry)
		synctest.Wait()
		first := read(t, m.File)
		if first.Issuer != m.Issuer || first.Subject != m.Subject || first.Audience != m.Audience {
			t.Errorf("the token says %+v", first)
		}
		if left := time.Unix(first.Expires, 0).Sub(clk.Now()); left != m.Life {
			t.Errorf("it lives for %s, want %s", left, m.Life)
		}
		clk.Step(m.Life / 2)
		synctest.Wait()
		if second := read(t, m.File); second.Expires-first.Expires != int64(m.Life.Seconds()/2) {
			t.Errorf("after half of its life there is a token that ends %d s later", second.Expires-first.Expires)
		}
	})
}

func TestReplacedKeySignsAtOnce(t *testing.T) {
	next, _, err := webidentity.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	story(t, func(m *Minter, clk *clocktesting.FakeClock, bringKey func()) {
		bringKey()
		clk.Step(retry)
		synctest.Wait()
		id := func() string {
			token, err := os.ReadFile(m.File)
			if err != nil {
				t.Fatal(err)
			}
			return webidentity.KeyIDOf(token)
		}
		before, expires := id(), read(t, m.File).Expires
		clk.Step(keyInterval)
		synctest.Wait()
		if read(t, m.File).Expires != expires {
			t.Error("a token is issued although the key is the same")
		}
		if err := os.WriteFile(m.KeyFile, next, 0o600); err != nil {
			t.Fatal(err)
		}
		clk.Step(keyInterval)
		synctest.Wait()
		if after := id(); after == before || after == "" {
			t.Errorf("the token is of key %q", after)
		}
	})
}

func TestTokenIsKeptWhenRenewalFails(t *testing.T) {
	story(t, func(m *Minter, clk *clocktesting.FakeClock, bringKey func()) {
		if _, err := os.Stat(m.File); err == nil {
			t.Error("there is a token without a key")
		}
		bringKey()
		clk.Step(retry)
		synctest.Wait()
		first := read(t, m.File)
		if err := os.WriteFile(m.KeyFile, []byte("no key"), 0o600); err != nil {
			t.Fatal(err)
		}
		clk.Step(m.Life / 2)
		synctest.Wait()
		if kept := read(t, m.File); kept.Expires != first.Expires {
			t.Errorf("the token of %d became one of %d", first.Expires, kept.Expires)
		}
		bringKey()
		clk.Step(retry)
		synctest.Wait()
		if again := read(t, m.File); again.Expires <= first.Expires {
			t.Error("the key is back, and there is no new token")
		}
	})
}

func TestMissingArgumentsAreReported(t *testing.T) {
	for flag, args := range map[string][]string{
		"--issuer":     {"--key-file=k", "--subject=s", "--token-file=t"},
		"--token-file": {"--key-file=k", "--subject=s", "--issuer=i"},
		"--life":       {"--key-file=k", "--subject=s", "--issuer=i", "--token-file=t", "--life=1s"},
	} {
		if _, err := Parse(args); err == nil || !strings.Contains(err.Error(), flag) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// The role determines the subject of each token.
func TestTokenHasTheSubjectOfTheRole(t *testing.T) {
	account := names.ServiceAccountSubject(names.CAPIProviderSubject)
	story(t, func(m *Minter, clk *clocktesting.FakeClock, bringKey func()) {
		var trusted []string
		var silent bool
		asked := 0
		m.trusts = func(_ context.Context, token string) (bool, error) {
			asked++
			if silent {
				return false, errors.New("no answer")
			}
			return slices.Contains(trusted, claimsOf(t, token).Subject), nil
		}
		after := func(d time.Duration, want string) {
			t.Helper()
			clk.Step(d)
			synctest.Wait()
			if got := read(t, m.File).Subject; got != want {
				t.Errorf("the subject is %s, want %s", got, want)
			}
		}
		bringKey()
		after(retry, m.Subject) // a new role has no trust policy yet
		trusted = []string{account}
		after(retry, account)
		silent = true
		after(m.Life/2, account)
		silent = false
		trusted = []string{account, m.Subject}
		after(retry, m.Subject)
		trusted = []string{m.Subject}
		after(m.Life/2, m.Subject)

		before := asked
		trusted = nil
		for range 30 {
			after(time.Minute, m.Subject)
		}
		for range 60 {
			after(time.Minute, m.Subject)
		}
		if n := asked - before; n > 60 {
			t.Errorf("STS was asked %d times in 90 minutes about a role that trusts nobody", n)
		}
	})
}

func TestSTS(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		answer  string
		trusted bool
		fails   bool
	}{
		"it gives credentials":          {http.StatusOK, "<AssumeRoleWithWebIdentityResponse/>", true, false},
		"it denies":                     {http.StatusForbidden, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not authorized</Message></Error></ErrorResponse>", false, false},
		"it does not know the issuer":   {http.StatusBadRequest, "<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error></ErrorResponse>", false, true},
		"a proxy answers":               {http.StatusForbidden, "<html>", false, true},
		"it is not available right now": {http.StatusServiceUnavailable, "", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.FormValue("Action") != "AssumeRoleWithWebIdentity" || r.FormValue("WebIdentityToken") != "token" || r.FormValue("RoleArn") != "arn:aws:iam::1:role/x" {
					t.Errorf("the request is %v", r.Form)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.answer))
			}))
			defer server.Close()
			t.Setenv("AWS_ENDPOINT_URL", server.URL)
			trusted, err := newSTS("us-east-1", "arn:aws:iam::1:role/x").trusts(t.Context(), "token")
			if trusted != c.trusted || (err != nil) != c.fails {
				t.Errorf("got %v, %v", trusted, err)
			}
		})
	}
}

func TestSTSEndpoint(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_ENDPOINT_URL_STS", "")
	for arn, want := range map[string]string{
		"arn:aws:iam::1:role/x":        "https://sts.us-east-1.amazonaws.com",
		"arn:aws-us-gov:iam::1:role/x": "https://sts.us-east-1.amazonaws.com",
		"arn:aws-cn:iam::1:role/x":     "https://sts.us-east-1.amazonaws.com.cn",
	} {
		if got := stsEndpoint("us-east-1", arn); got != want {
			t.Errorf("%s: %s, want %s", arn, got, want)
		}
	}
}
