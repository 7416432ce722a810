package redact

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func privateKey(t *testing.T) (text string, lines []string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	lines = strings.Split(strings.TrimSpace(text), "\n")
	return text, lines[1 : len(lines)-2]
}

// TestSecretsByTheirForm has no known values: a program may log a value that no Secret contains.
func TestSecretsByTheirForm(t *testing.T) {
	key, lines := privateKey(t)
	r := New()
	for name, c := range map[string]struct{ text, secret, stays string }{
		"a private key":                 {"loaded\n" + key + "done", lines[0], "done"},
		"a private key that is cut off": {"loaded " + key[:80], lines[0][:20], "loaded"},
		"a private key in base64":       {"client-key: " + base64.StdEncoding.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString([]byte(key))[60:90], "client-key"},
		"a private key in shifted base64": {"x: " + base64.StdEncoding.EncodeToString([]byte(strings.Replace(key, "PRIVATE", "EC PRIVATE", 1))),
			base64.StdEncoding.EncodeToString([]byte(strings.Replace(key, "PRIVATE", "EC PRIVATE", 1)))[60:90], "x:"},
		"a signed token":          {`user "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl" logged in`, "c2lnbmF0dXJl", "logged in"},
		"an authorization header": {"Authorization: Bearer abcdef0123456789", "abcdef0123456789", "Authorization"},
		"a bootstrap token":       {"kubeadm join --token abcdef.0123456789abcdef", "0123456789abcdef", "kubeadm join"},
		"a presigned URL":         {"GET https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA&X-Amz-Signature=5e884898da28 200", "5e884898da28", "200"},
		"a password in a URL":     {"proxy http://user:hunter22@proxy:3128 used", "hunter22", "proxy:3128 used"},
		"a field of JSON":         {`{"password":"hunter22","user":"u"}`, "hunter22", `"user":"u"`},
		"a field of JSON in JSON": {`{"msg":"{\"password\":\"hunter22\",\"user\":\"u\"}"}`, "hunter22", `user`},
		"an AWS credentials file": {"[default]\naws_secret_access_key = wJalrXUtnFEMI/K7MDENG\nregion = eu-west-1", "wJalrXUtnFEMI", "eu-west-1"},
		"a pull secret":           {`{"auths":{"quay.io":{"auth":"dXNlcjpodW50ZXIyMg=="}}}`, "dXNlcjpodW50ZXIyMg", "quay.io"},
	} {
		got := r.String(c.text)
		if strings.Contains(got, c.secret) || !strings.Contains(got, c.stays) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	r := New("clusters-demo")
	r.Add([]byte("clusters-demo"))
	r.Add([]byte("true"))
	for _, text := range []string{
		`{"level":"info","msg":"tokens are valid","namespace":"clusters-demo","requeue":true}`,
		"--service-account-issuer=https://bucket.s3.us-east-1.amazonaws.com/demo-x7k2p",
		"secretName: kas-server-crt",
		"image: registry.k8s.io/kube-apiserver@sha256:1f2e3d4c5b6a79880123456789abcdef0123456789abcdef0123456789abcdef",
	} {
		if got := r.String(text); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestKnownValuesAreFoundEverywhere puts each value of a Secret where its form does not reveal it.
func TestKnownValuesAreFoundEverywhere(t *testing.T) {
	key, lines := privateKey(t)
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
		"clusters":[{"name":"c","cluster":{"server":"https://api.example.com"}}],"users":[{"name":"u","user":{"token":"opaque-Token-1","client-key-data":%q}}]}`,
		base64.StdEncoding.EncodeToString([]byte(key)))
	for name, c := range map[string]struct{ value, secret string }{
		"a password":                        {"correct horse battery", "correct horse battery"},
		"a password in base64":              {"correct horse battery", base64.StdEncoding.EncodeToString([]byte("correct horse battery"))},
		"a line of a private key":           {key, lines[1]},
		"the token of a kubeconfig":         {kubeconfig, "opaque-Token-1"},
		"a line of the key of a kubeconfig": {kubeconfig, lines[2]},
		"the password of a registry":        {`{"auths":{"quay.io":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("user:opaque-Token-2")) + `"}}}`, "opaque-Token-2"},
		"an encryption key":                 {"keys:\n- name: key1\n  secret: c2VjcmV0IGlzIHNlY3VyZSwgSSB0aGluaw==\n", "c2VjcmV0IGlzIHNlY3VyZSwgSSB0aGluaw=="},
	} {
		r := New()
		r.Add([]byte(c.value))
		r.Prepare()
		if got := r.String("it was " + c.secret + ", then"); strings.Contains(got, c.secret) || !strings.HasPrefix(got, "it was ") {
			t.Errorf("%s: %s", name, got)
		}
		if got := r.String("https://api.example.com"); got != "https://api.example.com" {
			t.Errorf("%s: the address of the server became %s", name, got)
		}
	}
}

func TestObjects(t *testing.T) {
	text := `{"apiVersion":"v1","kind":"List","spec":{
		"containers":[{"name":"c","env":[{"name":"DB_PASSWORD","value":"opaque-1"},{"name":"AWS_WEB_IDENTITY_TOKEN_FILE","value":"/var/run/token"},{"name":"PULL_SECRET","valueFrom":{"secretKeyRef":{"name":"pull-secret","key":"k"}}}]}],
		"clientSecret":"opaque-2","secretName":"visible","nested":[{"apiKey":"opaque-3"}]},
		"metadata":{"name":"visible-name","managedFields":[{"manager":"opaque-4"}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"opaque-5"}}}`
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	New().Object(u)
	got, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 5; i++ {
		if secret := fmt.Sprint("opaque-", i); strings.Contains(string(got), secret) {
			t.Errorf("%s is in %s", secret, got)
		}
	}
	for _, stays := range []string{"visible", "visible-name", "/var/run/token", "pull-secret"} {
		if !strings.Contains(string(got), stays) {
			t.Errorf("%s is missing in %s", stays, got)
		}
	}
}

func TestSecretKeepsItsKeysOnly(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"},
		"data": map[string]any{"password": "b3BhcXVl", "empty": ""}, "stringData": map[string]any{"other": "opaque"},
	}}
	New().Object(u)
	got, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(got), "b3BhcXVl") || strings.Contains(string(got), "opaque") || !strings.Contains(string(got), `"empty":""`) {
		t.Errorf("got %s", got)
	}
}

func TestLines(t *testing.T) {
	if got := string(Lines([]byte("a demo\nb other\nc demo"), "demo", "")); got != "a demo\nc demo" {
		t.Errorf("got %q", got)
	}
}
