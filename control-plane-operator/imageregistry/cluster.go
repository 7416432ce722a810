package imageregistry

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// serviceAccount is where a pod has the token and the authorities for the API server.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// cluster is the API server of the hosted cluster. This program links no Kubernetes library.
type cluster struct {
	url       string
	tokenFile string
	client    *http.Client
}

// maxAnswer is the limit of an answer of the API server.
const maxAnswer = 1 << 20

// inCluster returns the API server as the environment of a pod names it.
func inCluster() (*cluster, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return nil, errors.New("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are needed")
	}
	pem, err := os.ReadFile(serviceAccount + "ca.crt")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%sca.crt has no certificate", serviceAccount)
	}
	return &cluster{
		url: "https://" + net.JoinHostPort(host, port), tokenFile: serviceAccount + "token",
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}},
	}, nil
}

// statusError is an answer of the API server that is not a success.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the API server answers %d: %s", e.code, e.message)
}

// isStatus reports whether the API server has answered with this code.
func isStatus(err error, code int) bool {
	var status *statusError
	return errors.As(err, &status) && status.code == code
}

// do sends an object, unless it is nil, and reads another one.
func (c *cluster) do(ctx context.Context, method, path string, in, out any) error {
	token, err := os.ReadFile(c.tokenFile)
	if err != nil {
		return err
	}
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return &statusError{resp.StatusCode, problem(text)}
	}
	return json.Unmarshal(text, out)
}

// problem returns the message of a Status, or the beginning of another text.
func problem(text []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(text, &status) == nil && status.Message != "" {
		return status.Message
	}
	return string(text[:min(len(text), 200)])
}
