package webidentity

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// Keys that are accepted are in the published set in their order, without their private part, and under the id that tokens name.
func FuzzKeys(f *testing.F) {
	for _, generate := range []func() (private, public []byte, err error){GenerateKey, GenerateRSAKey} {
		private, public, err := generate()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(private)
		f.Add(slices.Concat(public, public))
	}
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		if set, err := JWKS(text); err == nil {
			var read jose.JSONWebKeySet
			if err := json.Unmarshal(set, &read); err != nil {
				t.Fatalf("the key set is not read by clients: %v: %s", err, set)
			}
			keys, err := parsePublicKeys(text)
			if err != nil || len(keys) != len(read.Keys) {
				t.Fatalf("%d keys are published, and %d are in the text: %v", len(read.Keys), len(keys), err)
			}
			for i, key := range read.Keys {
				id, err := keyID(keys[i])
				if err != nil || id != key.KeyID || !key.IsPublic() || !key.Valid() {
					t.Errorf("key %d is %+v, want id %s (%v)", i, key, id, err)
				}
			}
		}
		if key, err := parsePrivateKey(text); err == nil && checkKey(key.Public()) != nil {
			t.Errorf("a key of type %T is accepted", key)
		} else if err != nil && len(text) > 100 && strings.Contains(err.Error(), string(text[:100])) {
			t.Errorf("the error has the key: %v", err)
		}
	})
}
