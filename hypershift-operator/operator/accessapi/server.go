package accessapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessv1alpha1 "github.com/hosted-control-planes/hypershift/api/access/v1alpha1"
	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const (
	// requestTimeout limits a request, except for an open tunnel.
	requestTimeout = 30 * time.Second
	// maxBody is the limit of a request in bytes, and bodyTimeout is how long it may take to arrive.
	maxBody     = 64 << 10
	bodyTimeout = 5 * time.Second
	// refresh is how often the front proxy's authorities and the serving certificate are read again.
	refresh = time.Minute
	// retryInterval is the time between two attempts to prepare the server.
	retryInterval = 5 * time.Second
)

// Options configure the server.
type Options struct {
	// Address is where it listens.
	Address string
	// Client writes, and Reader reads from the API server.
	Client client.Client
	Reader client.Reader
	// Access reviews the permissions of users.
	Access authorizationclient.SubjectAccessReviewInterface
	Clock  clock.WithTicker
	// Namespace is the namespace of the operator, with the Service of this server.
	Namespace string
	// Dial connects to a hosted API server. Default: net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Server is the aggregated API server.
type Server struct {
	Options
	proxy       frontProxy
	certificate *servingCertificate
	tunnels     *tunnelLimits
}

// New returns a server. Start runs it.
func New(o Options) *Server {
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	return &Server{Options: o, certificate: newServingCertificate(o), tunnels: newTunnelLimits()}
}

// NeedLeaderElection is false: every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// Start serves until the context ends. A missing prerequisite in the management cluster is retried: it must not stop the operator's
// controllers.
func (s *Server) Start(ctx context.Context) error {
	log := ctrl.LoggerFrom(ctx).WithName("access")
	for !s.prepare(ctx, log) {
		if !s.sleep(ctx, retryInterval) {
			return nil
		}
	}
	listener, err := net.Listen("tcp", s.Address)
	if err != nil {
		return fmt.Errorf("listening for the access API: %w", err)
	}
	server := &http.Server{
		Handler: s.handler(), BaseContext: func(net.Listener) context.Context { return ctrl.LoggerInto(ctx, log) },
		// A client that is not the API server may write anything, as often as it wants to.
		ErrorLog:          stdlog.New(io.Discard, "", 0),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxBody,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, // HTTP/2 has no WebSockets here
			GetCertificate: s.certificate.get,
			// The front proxy is verified in each request, because its authorities change.
			ClientAuth: tls.RequestClientCert,
		},
	}
	go func() {
		for s.sleep(ctx, refresh) {
			s.prepare(ctx, log)
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // the process ends
	defer stop()
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the access API: %w", err)
	}
	return nil
}

// prepare reads the rules of the front proxy and renews the certificate. It returns false if something failed.
func (s *Server) prepare(ctx context.Context, log logr.Logger) bool {
	err := errors.Join(s.proxy.load(ctx, s.Reader), s.certificate.ensure(ctx))
	if err != nil && ctx.Err() == nil {
		log.Error(err, "Preparing the access API")
	}
	return err == nil
}

// sleep returns false if the context ends meanwhile.
func (s *Server) sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-s.Clock.After(d):
		return true
	}
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	group, version := "/apis/"+accessv1alpha1.GroupVersion.Group, "/apis/"+accessv1alpha1.GroupVersion.String()
	mux.HandleFunc("GET "+group, s.authenticated(discoverGroup))
	mux.HandleFunc("GET "+version, s.authenticated(discoverResources))
	of := version + "/namespaces/{namespace}/" + accessv1alpha1.Resource + "/{name}/"
	mux.HandleFunc("POST "+of+string(accessv1alpha1.AdminKubeconfig), s.authorized(accessv1alpha1.AdminKubeconfig, s.issueKubeconfig))
	mux.HandleFunc("POST "+of+string(accessv1alpha1.ViewerKubeconfig), s.authorized(accessv1alpha1.ViewerKubeconfig, s.issueKubeconfig))
	mux.HandleFunc("GET "+of+string(accessv1alpha1.Tunnel), s.authorized(accessv1alpha1.Tunnel, s.openTunnel))
	return mux
}

// request is a request of a user with the permission.
type request struct {
	*http.Request
	user        authenticationv1.UserInfo
	subresource accessv1alpha1.Subresource
	cluster     *hyperv1.HostedCluster
}

func (s *Server) authenticated(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.proxy.user(r); err != nil {
			fail(w, apierrors.NewUnauthorized(err.Error()))
			return
		}
		serve(w, r)
	}
}

// authorized serves requests of users who may create the subresource. The HostedCluster is read afterwards, so that other users do not
// learn which names exist.
func (s *Server) authorized(subresource accessv1alpha1.Subresource, serve func(http.ResponseWriter, *request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, err := s.proxy.user(r)
		if err != nil {
			fail(w, apierrors.NewUnauthorized(err.Error()))
			return
		}
		key := client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
		if problems := slices.Concat(content.IsPathSegmentName(key.Namespace), content.IsPathSegmentName(key.Name)); len(problems) > 0 {
			fail(w, apierrors.NewBadRequest("the name of the HostedCluster "+problems[0]))
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		hc := &hyperv1.HostedCluster{}
		if err = s.authorize(ctx, user, key, subresource); err == nil {
			err = s.Reader.Get(ctx, key, hc)
		}
		cancel()
		if err == nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			err = serve(w, &request{Request: r, user: user, subresource: subresource, cluster: hc})
		}
		if err != nil {
			fail(w, err)
		}
	}
}

// authorize reviews the verb create in the namespace of the HostedCluster.
func (s *Server) authorize(ctx context.Context, user authenticationv1.UserInfo, key client.ObjectKey, subresource accessv1alpha1.Subresource) error {
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	review, err := s.Access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Group: accessv1alpha1.GroupVersion.Group, Version: accessv1alpha1.GroupVersion.Version, Resource: accessv1alpha1.Resource,
			Subresource: string(subresource), Verb: "create", Namespace: key.Namespace, Name: key.Name,
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("reviewing the permissions of %s: %w", user.Username, err)
	}
	if !review.Status.Allowed {
		resource := accessv1alpha1.GroupVersion.WithResource(accessv1alpha1.Resource + "/" + string(subresource)).GroupResource()
		return apierrors.NewForbidden(resource, key.Name, fmt.Errorf("user %q may not create it in namespace %q", user.Username, key.Namespace))
	}
	return nil
}

// fail answers with a Status, as the API server does.
func fail(w http.ResponseWriter, err error) {
	var apiStatus apierrors.APIStatus
	status := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()}
	if errors.As(err, &apiStatus) {
		status = apiStatus.Status()
	}
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	reply(w, int(status.Code), status)
}

func reply(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // the client is gone
}

func discoverGroup(w http.ResponseWriter, _ *http.Request) {
	version := metav1.GroupVersionForDiscovery{GroupVersion: accessv1alpha1.GroupVersion.String(), Version: accessv1alpha1.GroupVersion.Version}
	reply(w, http.StatusOK, metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}, Name: accessv1alpha1.GroupVersion.Group,
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	})
}

func discoverResources(w http.ResponseWriter, _ *http.Request) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: accessv1alpha1.GroupVersion.String()}
	for _, subresource := range []accessv1alpha1.Subresource{accessv1alpha1.AdminKubeconfig, accessv1alpha1.Tunnel, accessv1alpha1.ViewerKubeconfig} {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: accessv1alpha1.Resource + "/" + string(subresource), Namespaced: true, Kind: accessv1alpha1.KubeconfigRequestKind, Verbs: metav1.Verbs{"create"},
		})
	}
	reply(w, http.StatusOK, list)
}
