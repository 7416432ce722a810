// Package tokenminter keeps a web-identity token in a file, for a program that
// signs in to AWS with one and cannot make it itself.
//
//	signing key (a mounted Secret) ─► token of one service account ─► file, replaced in one step
//	      ▲                                                              │
//	      └──────────────── at half of the token's life ─────────────────┘
//
// The key is mounted into the container of the minter only. The hosted API
// server, which makes such tokens elsewhere, is not needed: machines can be
// made before it is up, and be taken away after it is gone.
package tokenminter

import (
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

// retry is how soon to try again what failed. The token that is there stays,
// and has half of its life left.
const retry = 10 * time.Second

// Minter makes tokens.
type Minter struct {
	// KeyFile holds the key that signs, PEM. It is read for each token, so that
	// a key that replaced another is used.
	KeyFile string
	// Issuer, Subject and Audience are what AWS checks.
	Issuer, Subject, Audience string
	// File is where the token goes.
	File string
	// Life of a token.
	Life  time.Duration
	Clock clock.Clock
}

// Parse reads the arguments after the name of the subcommand.
func Parse(args []string) (*Minter, error) {
	m := &Minter{Clock: clock.RealClock{}}
	fs := flag.NewFlagSet(Command, flag.ContinueOnError)
	fs.StringVar(&m.KeyFile, "key-file", "", "file with the key that signs the cluster's service account tokens, PEM")
	fs.StringVar(&m.Issuer, "issuer", "", "URL of the issuer")
	fs.StringVar(&m.Subject, "subject", "", "who the token is for, e.g. "+names.CAPIProviderSubject)
	fs.StringVar(&m.Audience, "audience", names.WebIdentityAudience, "whom the token is for")
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
	if m.Life < time.Minute {
		return nil, errors.New("--life must be a minute or more")
	}
	return m, nil
}

// Run keeps the token fresh until ctx ends. It does not give up.
func (m *Minter) Run(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	for {
		pause := m.Life / 2
		if err := m.mint(); err != nil {
			log.Error(err, "Making a token; trying again", "after", retry)
			pause = retry
		}
		timer := m.Clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

func (m *Minter) mint() error {
	key, err := os.ReadFile(m.KeyFile)
	if err != nil {
		return fmt.Errorf("reading the signing key: %w", err)
	}
	signer, err := webidentity.NewSigner(key, m.Issuer, m.Clock)
	if err != nil {
		return fmt.Errorf("reading the signing key in %s: %w", m.KeyFile, err)
	}
	token, err := signer.Token(m.Subject, m.Audience, m.Life)
	if err != nil {
		return fmt.Errorf("signing: %w", err)
	}
	// Who reads at the same time finds the old token or the new one.
	fresh := m.File + ".new"
	if err := os.WriteFile(fresh, []byte(token), 0o644); err != nil {
		return fmt.Errorf("writing the token: %w", err)
	}
	if err := os.Rename(fresh, m.File); err != nil {
		return fmt.Errorf("replacing the token: %w", err)
	}
	return nil
}
