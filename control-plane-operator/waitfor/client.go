package waitfor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
)

// checkURL returns a check that sends an unauthenticated request.
func checkURL(target, caFile string) (func(context.Context) error, error) {
	var trust []byte
	if caFile != "" {
		var err error
		if trust, err = os.ReadFile(caFile); err != nil {
			return nil, fmt.Errorf("reading --ca-file: %w", err)
		}
	}
	config, err := trusting(trust)
	if err != nil {
		return nil, fmt.Errorf("using --ca-file %s: %w", caFile, err)
	}
	c := client(config)
	return func(ctx context.Context) error { return get(ctx, c, target) }, nil
}

// trusting returns a configuration that trusts only these authorities, or without authorities the image's.
func trusting(authorities []byte) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(authorities) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, errors.New("it contains no CA certificate")
		}
	}
	return config, nil
}

func client(config *tls.Config) *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
}

func dial(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

func get(ctx context.Context, c *http.Client, target string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", target, resp.Status)
	}
	return nil
}
