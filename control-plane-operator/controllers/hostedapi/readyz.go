package hostedapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/clock"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components/kubeapiserver"
	"github.com/hosted-control-planes/hypershift/internal/secretencryption"
)

const (
	// requestTimeout is the timeout of one request.
	requestTimeout = 5 * time.Second
	// maxBodySize is the limit of a response body.
	maxBodySize = 64 << 10
)

// An answer is the result of one check of an API server.
type answer struct {
	kubeconfig *kubeconfig
	// problem is the reason for which the API server is not available, or nil.
	problem *problem
	// silent is true when there was no response, or a response of a server that is shutting down: the next connection
	// reaches another server.
	silent bool
	// server and etcd are the problems that these components report, or nil.
	server, etcd *problem
	// checks are the checks in the response of /readyz, with their results.
	checks map[string]bool
	// took is the time until the response of /readyz, with the connection; 0 if there was none.
	took time.Duration
	// version is empty if it could not be read.
	version string
}

// A problem is reported to users. It never contains data of a Secret.
type problem struct{ reason, message string }

// queryHealth checks the readiness and the version of the API server. It opens new connections each time, as clients do.
// Checks in without are excluded: the check of a missing plugin would take long.
func (k *kubeconfig) queryHealth(ctx context.Context, clk clock.PassiveClock, without ...string) answer {
	defer utilnet.CloseIdleConnectionsFor(k.client.Transport)
	query := "verbose"
	for _, check := range without {
		query += "&exclude=" + check
	}
	start := clk.Now()
	code, body, err := k.get(ctx, "readyz", query)
	if err != nil {
		p := connectionProblem(err, k.server.Host)
		return answer{silent: true, problem: &p}
	}
	health := answer{checks: checks(body), took: clk.Since(start)}
	if health.problem = k.evaluate(code, health.checks); health.problem != nil {
		health.silent = isShuttingDown(health.checks)
		return health
	}
	if code, body, err = k.get(ctx, "version", ""); err == nil && code == http.StatusOK {
		info := version.Info{}
		if json.Unmarshal(body, &info) == nil {
			health.version = info.GitVersion
		}
	}
	return health
}

// isShuttingDown returns whether the only failed check is the shutdown of the API server. A server that is replaced reports it
// while it is removed from its Service.
func isShuttingDown(checks map[string]bool) bool {
	well, named := checks["shutdown"]
	for name, fine := range checks {
		if !fine && name != "shutdown" {
			return false
		}
	}
	return named && !well
}

func (k *kubeconfig) get(ctx context.Context, path, query string) (code int, body []byte, err error) {
	at := k.server.JoinPath(path)
	at.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := k.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBodySize))
	return resp.StatusCode, body, err
}

// evaluate returns the problem in a response, or nil.
func (k *kubeconfig) evaluate(code int, checks map[string]bool) *problem {
	var failed []string
	for name, well := range checks {
		if !well {
			failed = append(failed, name)
		}
	}
	slices.Sort(failed)
	switch {
	case code == http.StatusOK:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return &problem{hyperv1.KubeconfigRefusedReason, fmt.Sprintf("%s returns %s for the credentials in Secret %s", k.server.Host, status(code), k.secret)}
	case len(failed) > 0:
		return &problem{hyperv1.KubeAPIServerNotReadyReason, fmt.Sprintf("%s is not ready; these checks fail: %s", k.server.Host, strings.Join(failed, ", "))}
	}
	return &problem{hyperv1.KubeAPIServerNotReadyReason, fmt.Sprintf("%s returns %s for its readiness check", k.server.Host, status(code))}
}

// leftOut returns the checks that do not decide whether the cluster is available: the check of the KMS plugins while one of
// their keys is only used to read. The probes of the pods exclude it as well.
func leftOut(hcp *hyperv1.HostedControlPlane) []string {
	enc := hcp.Spec.SecretEncryption
	backup := enc != nil && enc.KMS != nil && enc.KMS.AWS != nil && enc.KMS.AWS.BackupKey != nil //nolint:staticcheck // deprecated, and in use where somebody still sets it
	if backup || secretencryption.ReadsWithKMS(hcp.Status.SecretEncryptionRecord) {
		return []string{kubeapiserver.KMSCheck}
	}
	return nil
}

func status(code int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", code, http.StatusText(code)))
}

// checks parses the lines of /readyz?verbose: "[+]etcd ok", or "[-]etcd failed".
func checks(body []byte) map[string]bool {
	found := map[string]bool{}
	for line := range strings.Lines(string(body)) {
		for mark, well := range map[string]bool{"[+]": true, "[-]": false} {
			if rest, marked := strings.CutPrefix(line, mark); marked {
				name, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
				found[name] = well
			}
		}
	}
	return found
}
