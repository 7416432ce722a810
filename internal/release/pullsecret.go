package release

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// credentials returns the credentials of a pull secret for a repository, and an identifier for them that cannot be guessed.
// The credentials of this process and of its machine are never used, because users choose the image.
func credentials(pullSecret []byte, repository name.Repository) (authn.Authenticator, string, error) {
	if len(pullSecret) == 0 {
		return authn.Anonymous, "", nil
	}
	var secret struct {
		Auths map[string]json.RawMessage `json:"auths"`
	}
	if err := json.Unmarshal(pullSecret, &secret); err != nil {
		return nil, "", unreadable("it is not JSON", err)
	}
	key := bestKey(secret.Auths, repository)
	if key == "" {
		return authn.Anonymous, "", nil
	}
	var config authn.AuthConfig
	if err := json.Unmarshal(secret.Auths[key], &config); err != nil {
		// The error may quote the pull secret.
		return nil, "", unreadable("its entry for "+key+" cannot be read", errors.New("malformed entry"))
	}
	sum := sha256.Sum256(secret.Auths[key])
	return authn.FromConfig(config), hex.EncodeToString(sum[:]), nil
}

func unreadable(detail string, err error) error {
	return &failure{kind: InvalidPullSecret, detail: detail, err: err}
}

// bestKey returns the key of a pull secret that matches the repository best: the longest one, as in the kubelet.
func bestKey(auths map[string]json.RawMessage, repository name.Repository) string {
	best := ""
	for key := range auths {
		if fits(key, repository) && (len(key) > len(best) || len(key) == len(best) && key < best) {
			best = key
		}
	}
	return best
}

// fits matches a key such as quay.io, quay.io/example, *.example.com or https://index.docker.io/v1/.
func fits(key string, repository name.Repository) bool {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	host, place, _ := strings.Cut(key, "/")
	if host == "docker.io" {
		host = name.DefaultRegistry
	}
	if place = strings.Trim(place, "/"); place == "v1" || place == "v2" {
		place = ""
	}
	match, err := path.Match(host, repository.RegistryStr())
	return err == nil && match && (place == "" || below(repository.RepositoryStr(), place))
}
