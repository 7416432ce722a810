// Package tokenminter keeps a web-identity token in a file, for a component that authenticates to AWS with such a file.
//
//	signing key (a mounted Secret) ─► token of one service account ─► file, replaced in one step
//	      ▲                                                              │
//	      └──── at half of the token's life, and when the key changes ───┘
//
// The token's subject is a subject that no API server issues, if the trust policy of the role names it. Roles made for earlier
// versions, or by other command lines, name a service account. The minter therefore calls STS for each token:
//
//	the role trusts the subject                       ──► a token for the subject
//	it trusts the service account instead             ──► a token for the service account
//	it trusts neither, or STS does not answer         ──► the subject of the last token; retried soon
//
// The key is mounted into the minter's container only. The hosted API server, which usually issues such tokens, is not
// needed: machines can be created before it is up and deleted after it is gone.
package tokenminter

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
)

// Command is the name of the subcommand.
const Command = "token-minter"

// retry is the first interval after a failure. The existing token stays valid for the other half of its life.
const retry = 10 * time.Second

// maxRetry bounds the back-off, and so how long the minter takes to notice a changed trust policy.
const maxRetry = 5 * time.Minute

// keyInterval is how often the key is read. A key that was retired at once signs no token that AWS accepts.
const keyInterval = 30 * time.Second

// Minter keeps one token in a file.
type Minter struct {
	// KeyFile holds the signing key, PEM. It is read for each token, so that a replaced key is used.
	KeyFile string
	// Issuer, Subject and Audience are claims that the trust policy checks.
	Issuer, Subject, Audience string
	// RoleARN is the role that the token is for, and Region the region of the STS endpoint. Without a role STS is not called.
	RoleARN, Region string
	// File is the path of the token.
	File string
	// Life of a token.
	Life  time.Duration
	Clock clock.Clock

	// trusts reports whether the role trusts the subject of a token.
	trusts func(ctx context.Context, token string) (bool, error)
	// current is the subject of the last token, and key the last content of KeyFile.
	current string
	key     []byte
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Minter, error) {
	m := &Minter{Clock: clock.RealClock{}}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&m.KeyFile, "key-file", "", "file with the key that signs the cluster's service account tokens, PEM")
	fs.StringVar(&m.Issuer, "issuer", "", "URL of the issuer")
	fs.StringVar(&m.Subject, "subject", "", "service account of the token, such as "+names.CAPIProviderSubject)
	fs.StringVar(&m.RoleARN, "role-arn", "", "role that the token is for; one that trusts the service account of earlier versions gets a token for that")
	fs.StringVar(&m.Region, "region", "", "region whose STS is asked about the role")
	fs.StringVar(&m.Audience, "audience", names.WebIdentityAudience, "audience of the token")
	fs.StringVar(&m.File, "token-file", "", "file to keep the token in")
	fs.DurationVar(&m.Life, "life", time.Hour, "how long a token is valid; it is replaced when half of that is over")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	for flag, value := range map[string]string{"key-file": m.KeyFile, "issuer": m.Issuer, "subject": m.Subject, "token-file": m.File} {
		if value == "" {
			return nil, fmt.Errorf("--%s is missing", flag)
		}
	}
	if m.RoleARN != "" {
		if m.Region == "" {
			return nil, errors.New("--role-arn needs --region")
		}
		m.trusts = newSTS(m.Region, m.RoleARN).trusts
	}
	if m.Life < time.Minute {
		return nil, errors.New("--life must be a minute or more")
	}
	return m, nil
}

// Run renews the token until ctx ends. It retries failures without limit.
func (m *Minter) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	for attempts := 0; ; {
		pause := m.Life / 2
		switch determined, err := m.mint(ctx, log); {
		case err != nil:
			log.Error(err, "Making a token; trying again", "after", retry)
			pause = retry
		case determined:
			attempts = 0
		default:
			pause = min(retry<<attempts, maxRetry, pause)
			attempts = min(attempts+1, 10)
		}
		if !m.wait(ctx, pause) {
			return nil
		}
	}
}

// wait returns after that time, or earlier if the key changes. It returns false when ctx has ended.
func (m *Minter) wait(ctx context.Context, pause time.Duration) bool {
	for end := m.Clock.Now().Add(pause); ; {
		timer := m.Clock.NewTimer(min(end.Sub(m.Clock.Now()), keyInterval))
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		key, err := os.ReadFile(m.KeyFile)
		if !m.Clock.Now().Before(end) || err == nil && !bytes.Equal(key, m.key) {
			return true
		}
	}
}

// mint writes one token. determined is true when STS has determined which subject the role trusts.
func (m *Minter) mint(ctx context.Context, log logr.Logger) (determined bool, err error) {
	key, err := os.ReadFile(m.KeyFile)
	if err != nil {
		return false, fmt.Errorf("reading the signing key: %w", err)
	}
	m.key = key
	signer, err := webidentity.NewSigner(key, m.Issuer, m.Clock)
	if err != nil {
		return false, fmt.Errorf("reading the signing key in %s: %w", m.KeyFile, err)
	}
	subject, determined, err := m.choose(ctx, log, signer)
	if err != nil {
		return false, err
	}
	token, err := signer.Token(subject, m.Audience, m.Life)
	if err != nil {
		return false, fmt.Errorf("signing: %w", err)
	}
	if err := m.replace(token); err != nil {
		return false, err
	}
	if determined && subject != m.current {
		log.Info("The role trusts the subject", "subject", subject, "role", m.RoleARN)
	}
	m.current = subject
	return determined, nil
}

// choose returns the subject that the role trusts: Subject, or the service account that Subject replaces.
func (m *Minter) choose(ctx context.Context, log logr.Logger, signer *webidentity.Signer) (subject string, determined bool, err error) {
	account := names.ServiceAccountSubject(m.Subject)
	if m.trusts == nil || account == "" {
		return m.Subject, true, nil
	}
	for _, subject := range []string{m.Subject, account} {
		token, err := signer.Token(subject, m.Audience, m.Life)
		if err != nil {
			return "", false, fmt.Errorf("signing: %w", err)
		}
		trusted, err := m.trusts(ctx, token)
		if err != nil {
			log.Error(err, "Which subject the role trusts is not known")
			break
		}
		if trusted {
			return subject, true, nil
		}
	}
	return cmp.Or(m.current, m.Subject), false, nil
}

// replace writes the token by renaming a temporary file: readers find the old token or the new one.
func (m *Minter) replace(token string) error {
	fresh := m.File + ".new"
	if err := os.WriteFile(fresh, []byte(token), 0o644); err != nil { //nolint:gosec // containers of the pod read it, which may run as other users
		return fmt.Errorf("writing the token: %w", err)
	}
	if err := os.Rename(fresh, m.File); err != nil {
		return fmt.Errorf("replacing the token: %w", err)
	}
	return nil
}
