// Package redact removes secrets from data that leaves the management cluster for another reader, such as a dump for support.
//
// It has two independent means. Values of Secrets that are known are replaced wherever they occur. Everything that has the form of a
// secret is replaced as well, because a program may log a value that no Secret contains.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/hosted-control-planes/hypershift/internal/yamlsize"
)

// Mark replaces a secret.
const Mark = "<redacted>"

// A Redactor removes known secrets and everything that looks like one.
type Redactor struct {
	known    []string
	seen     map[string]bool
	replacer *strings.Replacer
}

// New returns a Redactor without known secrets. public are words that stay although a Secret may have them, such as the name of the
// cluster.
func New(public ...string) *Redactor {
	r := &Redactor{seen: map[string]bool{}}
	for _, word := range public {
		r.seen[word] = true
	}
	return r
}

// minKnown is the length from which a value is replaced wherever it occurs. Shorter ones, such as "true", are not secret.
const minKnown = 8

// Add makes the value of a Secret known. Certificates and public keys in it are not secret. Not safe for concurrent use with Text.
func (r *Redactor) Add(value []byte) {
	for _, secret := range secretsIn(value) {
		if len(secret) < minKnown || r.seen[secret] {
			continue
		}
		r.seen[secret] = true
		r.known = append(r.known, secret, Mark)
		if encoded := base64.StdEncoding.EncodeToString([]byte(secret)); !r.seen[encoded] {
			r.seen[encoded] = true
			r.known = append(r.known, encoded, Mark)
		}
		r.replacer = nil
	}
}

// secretsIn returns the parts of a value that are secret: the keys in PEM, the credentials in a kubeconfig, in a pull secret and in a
// credentials file of AWS, or else all of it.
func secretsIn(value []byte) []string {
	text := strings.TrimSpace(string(value))
	if text == "" {
		return nil
	}
	if strings.Contains(text, "-----BEGIN ") {
		return pemSecrets(value)
	}
	if config, err := loadKubeconfig(value); err == nil && len(config.AuthInfos) > 0 {
		var secrets []string
		for _, user := range config.AuthInfos {
			secrets = append(secrets, user.Token, user.Password)
			secrets = append(secrets, pemSecrets(user.ClientKeyData)...)
			// As it is in the file.
			secrets = append(secrets, base64.StdEncoding.EncodeToString(user.ClientKeyData))
		}
		return secrets
	}
	var docker struct {
		Auths map[string]map[string]any `json:"auths"`
	}
	if err := json.Unmarshal(value, &docker); err == nil && len(docker.Auths) > 0 {
		secrets := []string{text}
		for _, auth := range docker.Auths {
			for key, v := range auth {
				word, ok := v.(string)
				if !ok || key == "email" || key == "username" {
					continue
				}
				secrets = append(secrets, word)
				if decoded, err := base64.StdEncoding.DecodeString(word); err == nil && key == "auth" {
					_, password, _ := strings.Cut(string(decoded), ":")
					secrets = append(secrets, password)
				}
			}
		}
		return secrets
	}
	if found := awsFile.FindAllStringSubmatch(text, -1); len(found) > 0 {
		var secrets []string
		for _, m := range found {
			secrets = append(secrets, m[1])
		}
		return secrets
	}
	secrets := []string{text}
	// A file with a key in it, such as the configuration of encryption.
	for _, word := range longWords.FindAllString(text, -1) {
		if word != text && looksRandom(word) {
			secrets = append(secrets, word)
		}
	}
	return secrets
}

// loadKubeconfig reads a kubeconfig, if a Secret has one. A user may have written the Secret.
func loadKubeconfig(value []byte) (*clientcmdapi.Config, error) {
	if err := yamlsize.Check(value); err != nil {
		return nil, err
	}
	return clientcmd.Load(value)
}

var longWords = regexp.MustCompile(`[A-Za-z0-9+/=_-]{24,}`)

// looksRandom is true for keys, and false for host names and paths.
func looksRandom(word string) bool {
	return strings.ContainsAny(word, "0123456789") && strings.ToLower(word) != word && strings.ToUpper(word) != word
}

var awsFile = regexp.MustCompile(`(?m)^\s*(?:aws_secret_access_key|aws_session_token)\s*=\s*(\S+)`)

// pemSecrets returns the base64 text of the blocks that are not public, with and without line breaks.
func pemSecrets(value []byte) []string {
	var secrets []string
	for {
		var block *pem.Block
		block, value = pem.Decode(value)
		if block == nil {
			return secrets
		}
		if block.Type == "CERTIFICATE" || block.Type == "PUBLIC KEY" || block.Type == "CERTIFICATE REQUEST" {
			continue
		}
		whole := string(pem.EncodeToMemory(block))
		secrets = append(secrets, strings.TrimSpace(whole), whole, base64.StdEncoding.EncodeToString(block.Bytes))
		// A log may have single lines of it.
		for _, line := range strings.Split(whole, "\n") {
			if !strings.HasPrefix(line, "-----") && len(line) >= 32 {
				secrets = append(secrets, line)
			}
		}
	}
}

// pattern is the form of a secret. Text that the groups match stays.
type pattern struct {
	expression *regexp.Regexp
	with       string
}

var patterns = []pattern{
	{regexp.MustCompile(`(?s)-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`), Mark},
	// The beginning of a private key in base64, as in a kubeconfig.
	{regexp.MustCompile(`LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,24}(?:UFJJVkFURSBLRVkt|BSSVZBVEUgS0VZL|QUklWQVRFIEtFWS)[A-Za-z0-9+/=]*`), Mark},
	// Signed tokens (JWT). The claims are not secret, the signature is.
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+`), Mark},
	{regexp.MustCompile(`(?i)((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}`), "${1}" + Mark},
	// Bootstrap tokens of kubeadm.
	{regexp.MustCompile(`\b([a-z0-9]{6})\.[a-z0-9]{16}\b`), "${1}." + Mark},
	{regexp.MustCompile(`(?i)((?:x-amz-signature|x-amz-security-token|x-amz-credential|awsaccesskeyid|signature|sig|access_token|token)=)[^&\s"'<>]+`), "${1}" + Mark},
	{regexp.MustCompile(`(://[^/\s:@"']*:)[^/\s@"']+@`), "${1}" + Mark + "@"},
	// name=value and "name": "value".
	{regexp.MustCompile(`(?i)((?:password|passwd|secret[_-]?access[_-]?key|session[_-]?token|client[_-]?secret|client-key-data|api[_-]?key|private[_-]?key|auth[_-]?token|identitytoken|token-secret)\\?["']?\s*[:=]\s*\\?["']?)[^\s"'\\,}<]{4,}`), "${1}" + Mark},
	{regexp.MustCompile(`("(?:auth|token)\\?"\s*:\s*\\?")[^"\\]{8,}`), "${1}" + Mark},
}

// Text returns the text without secrets.
func (r *Redactor) Text(text []byte) []byte { return []byte(r.String(string(text))) }

// String returns the text without secrets.
func (r *Redactor) String(text string) string {
	if len(r.known) > 0 {
		if r.replacer == nil {
			r.replacer = strings.NewReplacer(r.known...)
		}
		text = r.replacer.Replace(text)
	}
	for _, p := range patterns {
		text = p.expression.ReplaceAllString(text, p.with)
	}
	return text
}

// Prepare must be called after the last Add and before concurrent use.
func (r *Redactor) Prepare() {
	if len(r.known) > 0 {
		r.replacer = strings.NewReplacer(r.known...)
	}
}

// secretName matches names of environment variables and fields with a secret value.
var secretName = regexp.MustCompile(`(?i)(password|passwd|secret|token|private_?key|api_?key|credential|access_?key)`)

// publicName matches names that the expression above matches by mistake: references, and settings about tokens.
var publicName = regexp.MustCompile(`(?i)(name|ref|file|path|secrets|id|arn|url|audience|seconds|mount|type|policy)$`)

// Object removes the secrets of an object, in place. It also removes fields that only take space.
func (r *Redactor) Object(u *unstructured.Unstructured) {
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	if u.GetKind() == "Secret" && u.GroupVersionKind().Group == "" {
		for _, field := range []string{"data", "stringData"} {
			values, _, _ := unstructured.NestedMap(u.Object, field)
			for key, v := range values {
				values[key] = size(field, v)
			}
			if values != nil {
				u.Object[field] = values
			}
		}
	}
	r.walk(u.Object)
}

// size differs between a missing value and an empty one.
func size(field string, v any) string {
	text, _ := v.(string)
	n := len(text)
	if field == "data" {
		decoded, _ := base64.StdEncoding.DecodeString(text)
		n = len(decoded)
	}
	if n == 0 {
		return ""
	}
	return Mark
}

func (r *Redactor) walk(v any) any {
	switch v := v.(type) {
	case string:
		return r.String(v)
	case []any:
		for i := range v {
			v[i] = r.walk(v[i])
		}
	case map[string]any:
		// An environment variable.
		if name, ok := v["name"].(string); ok && secretName.MatchString(name) && !publicName.MatchString(name) {
			if text, ok := v["value"].(string); ok && text != "" {
				v["value"] = Mark
			}
		}
		for key, value := range v {
			if text, ok := value.(string); ok && text != "" && secretName.MatchString(key) && !publicName.MatchString(key) {
				v[key] = Mark
				continue
			}
			v[key] = r.walk(value)
		}
	}
	return v
}

// Lines returns the lines of a log that contain one of the words.
func Lines(log []byte, words ...string) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(log) {
		for _, word := range words {
			if word != "" && bytes.Contains(line, []byte(word)) {
				out.Write(line)
				break
			}
		}
	}
	return out.Bytes()
}
