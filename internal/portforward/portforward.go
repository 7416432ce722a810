// Package portforward connects to a port of a pod through the API server of its cluster, and forwards a local port to it.
//
// Each connection is a WebSocket of its own, so that the end of a pod ends its connections only. Every message starts with the number of
// a channel: one carries the data, the other one the error of the container runtime.
package portforward

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const (
	protocol = "v4.channel.k8s.io"

	dataChannel  = 0
	errorChannel = 1
	// preamble is the number of the port, with which both channels begin.
	preamble = 2
)

// Pod is a port of a pod.
type Pod struct {
	Namespace, Name string
	Port            int
}

func (p Pod) path() string {
	return "/api/v1/namespaces/" + url.PathEscape(p.Namespace) + "/pods/" + url.PathEscape(p.Name) + "/portforward"
}

// Dial connects to the port of a pod.
func Dial(ctx context.Context, config *rest.Config, pod Pod) (net.Conn, error) {
	conn, err := DialPath(ctx, config, pod.path(), pod.Port)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("the user of the management cluster needs the permission to create and get pods/portforward: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to pod %s: %w", pod.Name, err)
	}
	return conn, nil
}

// DialPath connects to a port that another resource of the API server serves with the protocol of pods/portforward. Accept is the other
// end. An error of the API server is an APIStatus.
func DialPath(ctx context.Context, config *rest.Config, path string, port int) (net.Conn, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the API server: %w", err)
	}
	target := *base
	target.Path = strings.TrimSuffix(base.Path, "/") + path
	target.RawQuery = url.Values{"ports": {strconv.Itoa(port)}}.Encode()
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the certificates for the API server: %w", err)
	}
	shake := &handshake{tls: tlsConfig, dial: config.Dial, proxy: config.Proxy}
	// The wrappers add the credentials of the user.
	transport, err := rest.HTTPWrappersForConfig(config, shake)
	if err != nil {
		return nil, fmt.Errorf("reading the credentials for the API server: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		if errors.Is(err, websocket.ErrBadStatus) {
			err = refusal(ctx, config, target, err)
		}
		return nil, err
	}
	response.Body.Close()
	return &connection{Conn: shake.conn, skip: preamble, skipError: preamble}, nil
}

// handshake is a transport that makes a WebSocket of one request.
type handshake struct {
	tls   *tls.Config
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	proxy func(*http.Request) (*url.URL, error)
	conn  *websocket.Conn
}

var errProxy = errors.New("the API server is behind an HTTP proxy, through which no port can be forwarded; use kubectl port-forward")

func (h *handshake) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	proxy := h.proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	if through, err := proxy(request); err != nil || through != nil {
		return nil, errors.Join(errProxy, err)
	}
	location := *request.URL
	location.Scheme = map[string]string{"https": "wss", "http": "ws"}[request.URL.Scheme]
	config, err := websocket.NewConfig(location.String(), request.URL.String())
	if err != nil {
		return nil, err
	}
	config.Protocol, config.Header = []string{protocol}, request.Header.Clone()
	dial := h.dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	address := request.URL.Host
	if request.URL.Port() == "" {
		address = net.JoinHostPort(request.URL.Hostname(), map[string]string{"https": "443", "http": "80"}[request.URL.Scheme])
	}
	raw, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	// Neither handshake ends when the context does.
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	if request.URL.Scheme == "https" {
		settings := &tls.Config{MinVersion: tls.VersionTLS12}
		if h.tls != nil {
			settings = h.tls.Clone()
		}
		if settings.ServerName == "" {
			settings.ServerName = request.URL.Hostname()
		}
		settings.NextProtos = []string{"http/1.1"} // HTTP/2 has no WebSockets here
		secure := tls.Client(raw, settings)
		if err := secure.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		raw = secure
	}
	conn, err := websocket.NewClient(config, raw)
	if err != nil {
		raw.Close()
		return nil, err
	}
	if !stop() {
		_ = conn.Close()
		return nil, ctx.Err()
	}
	conn.PayloadType = websocket.BinaryFrame
	h.conn = conn
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: http.NoBody, Request: request}, nil
}

// refusal sends the request again without a WebSocket, because the first response is not known. It returns the reason, or err.
func refusal(ctx context.Context, config *rest.Config, target url.URL, err error) error {
	client, clientErr := rest.HTTPClientFor(config)
	if clientErr != nil {
		return err
	}
	request, requestErr := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if requestErr != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, responseErr := client.Do(request)
	if responseErr != nil {
		return err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10)) // the status alone is an answer, too
	status := metav1.Status{}
	if json.Unmarshal(text, &status) != nil || status.Message == "" {
		refused := apierrors.NewGenericServerResponse(response.StatusCode, "get", schema.GroupResource{}, "", "", 0, true)
		refused.ErrStatus.Message = fmt.Sprintf("the API server answers %s: %s", response.Status, strings.TrimSpace(string(text)))
		return refused
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// connection is the data of a WebSocket.
type connection struct {
	*websocket.Conn
	rest            []byte
	skip, skipError int
	write           sync.Mutex
}

func (c *connection) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		var message []byte
		if err := websocket.Message.Receive(c.Conn, &message); err != nil {
			return 0, err
		}
		if len(message) == 0 {
			continue
		}
		channel, data := message[0], message[1:]
		switch channel {
		case dataChannel:
			c.rest = drop(data, &c.skip)
		case errorChannel:
			if text := drop(data, &c.skipError); len(text) > 0 {
				return 0, errors.New(string(text))
			}
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func drop(data []byte, skip *int) []byte {
	n := min(len(data), *skip)
	*skip -= n
	return data[n:]
}

func (c *connection) Write(p []byte) (int, error) {
	c.write.Lock()
	defer c.write.Unlock()
	if err := websocket.Message.Send(c.Conn, append([]byte{dataChannel}, p...)); err != nil {
		return 0, err
	}
	return len(p), nil
}
