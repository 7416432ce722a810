package accessapi

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// frontProxyConfig is the ConfigMap in which the API server publishes how it authenticates itself.
var frontProxyConfig = client.ObjectKey{Namespace: "kube-system", Name: "extension-apiserver-authentication"}

// frontProxy authenticates the API server of the management cluster, which has authenticated the user.
type frontProxy struct {
	rules atomic.Pointer[frontProxyRules]
}

// frontProxyRules are the content of the ConfigMap.
type frontProxyRules struct {
	roots *x509.CertPool
	// names are the accepted common names. Without any, every certificate of the authority is accepted.
	names                                 []string
	userHeaders, groupHeaders, uidHeaders []string
	extraPrefixes                         []string
}

// load reads the ConfigMap. The rules stay as they are after an error.
func (p *frontProxy) load(ctx context.Context, reader client.Reader) error {
	config := &corev1.ConfigMap{}
	if err := reader.Get(ctx, frontProxyConfig, config); err != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", frontProxyConfig, err)
	}
	rules, err := parseFrontProxy(config.Data)
	if err != nil {
		return fmt.Errorf("reading ConfigMap %s: %w", frontProxyConfig, err)
	}
	p.rules.Store(rules)
	return nil
}

func parseFrontProxy(data map[string]string) (*frontProxyRules, error) {
	rules := &frontProxyRules{roots: x509.NewCertPool()}
	certificates, err := pki.ParseBundle([]byte(data["requestheader-client-ca-file"]))
	if err != nil {
		return nil, fmt.Errorf("requestheader-client-ca-file, which --requestheader-client-ca-file of the API server sets: %w", err)
	}
	for _, certificate := range certificates {
		rules.roots.AddCert(certificate)
	}
	for key, list := range map[string]*[]string{
		"requestheader-allowed-names":        &rules.names,
		"requestheader-username-headers":     &rules.userHeaders,
		"requestheader-group-headers":        &rules.groupHeaders,
		"requestheader-uid-headers":          &rules.uidHeaders,
		"requestheader-extra-headers-prefix": &rules.extraPrefixes,
	} {
		if text := data[key]; text != "" {
			if err := json.Unmarshal([]byte(text), list); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
	}
	if len(rules.userHeaders) == 0 {
		return nil, errors.New("requestheader-username-headers has no header")
	}
	return rules, nil
}

// errNotFrontProxy is for a client that is not the API server. Only the API server knows who the user is.
var errNotFrontProxy = errors.New("only the API server of the management cluster may call this API: use its address")

// user returns the user of a request.
func (p *frontProxy) user(r *http.Request) (authenticationv1.UserInfo, error) {
	rules := p.rules.Load()
	if rules == nil || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return authenticationv1.UserInfo{}, errNotFrontProxy
	}
	leaf, intermediates := r.TLS.PeerCertificates[0], x509.NewCertPool()
	for _, certificate := range r.TLS.PeerCertificates[1:] {
		intermediates.AddCert(certificate)
	}
	_, err := leaf.Verify(x509.VerifyOptions{Roots: rules.roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil || len(rules.names) > 0 && !slices.Contains(rules.names, leaf.Subject.CommonName) {
		return authenticationv1.UserInfo{}, errNotFrontProxy
	}
	user := authenticationv1.UserInfo{Username: first(r.Header, rules.userHeaders), UID: first(r.Header, rules.uidHeaders), Extra: extra(r.Header, rules.extraPrefixes)}
	for _, name := range rules.groupHeaders {
		user.Groups = append(user.Groups, r.Header.Values(name)...)
	}
	if user.Username == "" {
		return authenticationv1.UserInfo{}, errors.New("the API server has named no user")
	}
	return user, nil
}

func first(header http.Header, names []string) string {
	for _, name := range names {
		if value := header.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// extra returns the headers with one of the prefixes. The rest of their name is a key, with percent-encoding.
func extra(header http.Header, prefixes []string) map[string]authenticationv1.ExtraValue {
	found := map[string]authenticationv1.ExtraValue{}
	for name, values := range header {
		for _, prefix := range prefixes {
			if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
				continue
			}
			key := strings.ToLower(name[len(prefix):])
			if decoded, err := url.PathUnescape(key); err == nil {
				key = decoded
			}
			found[key] = append(found[key], values...)
		}
	}
	return found
}
