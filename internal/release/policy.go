package release

import (
	"context"
	"crypto"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/hosted-control-planes/hypershift/internal/release/signature"
)

// A Policy restricts which releases an installation accepts. The zero value accepts all.
type Policy struct {
	// Repositories are where releases may come from. Empty accepts every repository.
	Repositories Repositories
	// Keys are public keys. When there are any, one of them must have signed the release.
	Keys []crypto.PublicKey
}

// Repositories are registries, repositories or parts of their path, such as quay.io/example.
type Repositories []string

// ParseRepositories parses a list that is separated by commas. Each entry starts with the host name of its registry, so that an
// entry cannot mean a repository of another registry.
func ParseRepositories(text string) (Repositories, error) {
	var all Repositories
	for entry := range strings.SplitSeq(text, ",") {
		entry = strings.Trim(strings.TrimSpace(entry), "/")
		if entry == "" {
			continue
		}
		host, path, _ := strings.Cut(entry, "/")
		if _, err := name.NewRegistry(host, name.StrictValidation); err != nil || !strings.ContainsAny(host, ".:") || strings.ContainsAny(path, " @:") {
			return nil, fmt.Errorf("%q is not a registry or repository: write it with its host name and without a tag, such as quay.io/example", entry)
		}
		all = append(all, entry)
	}
	return all, nil
}

// String returns a text that ParseRepositories reads.
func (r Repositories) String() string { return strings.Join(r, ",") }

// allow returns an error of kind NotAllowed when releases may not come from the repository of the image.
func (r Repositories) allow(image string) error {
	if len(r) == 0 {
		return nil
	}
	ref, err := name.ParseReference(image)
	if err != nil {
		return nil // the caller reports its error
	}
	repository := strings.Replace(ref.Context().Name(), name.DefaultRegistry, "docker.io", 1)
	if slices.ContainsFunc(r, func(allowed string) bool { return below(repository, allowed) }) {
		return nil
	}
	return &failure{kind: NotAllowed, detail: "releases come from " + strings.Join(r, ", ")}
}

// verify returns an error of kind NotSigned unless one of the keys has signed the image.
func (p Policy) verify(ctx context.Context, s *session, image name.Digest) error {
	if len(p.Keys) == 0 {
		return nil
	}
	signed, err := signature.Verify(ctx, s.remote, image, p.Keys)
	if err == nil && !signed {
		err = &failure{kind: NotSigned, detail: fmt.Sprintf("none of the %d keys that this installation trusts has signed %s", len(p.Keys), image.DigestStr())}
	}
	return err
}
