package accessapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/reference"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessv1alpha1 "github.com/hosted-control-planes/hypershift/api/access/v1alpha1"
	"github.com/hosted-control-planes/hypershift/internal/events"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
)

// userPrefix begins the names of users of the management cluster in the hosted cluster. No permission of the hosted cluster is bound to
// such a name by the operators, so that a user cannot choose a name with permissions.
const userPrefix = "management:"

// groups are the groups of the kubeconfigs in the hosted cluster.
var groups = map[accessv1alpha1.Subresource]string{
	accessv1alpha1.AdminKubeconfig:  names.AdminGroup,
	accessv1alpha1.ViewerKubeconfig: names.ViewerGroup,
}

// errNoKubeconfig is for a cluster that is not ready for users.
var errNoKubeconfig = errors.New("the cluster has no kubeconfig yet: wait until its API server has an address")

// issueKubeconfig answers with a kubeconfig for the user.
func (s *Server) issueKubeconfig(w http.ResponseWriter, r *request) error {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	// A client may begin a body and stay silent.
	if err := http.NewResponseController(w).SetReadDeadline(s.Clock.Now().Add(bodyTimeout)); err != nil {
		return fmt.Errorf("limiting the time of the request: %w", err)
	}
	kubeconfigRequest, err := parseRequest(r)
	if err != nil {
		return err
	}
	validity := time.Duration(kubeconfigRequest.Spec.ExpirationSeconds) * time.Second
	leaf, err := s.sign(ctx, r, validity)
	if err != nil {
		return err
	}
	server, trust, err := s.server(ctx, r)
	if err != nil {
		return err
	}
	if kubeconfigRequest.Status.Kubeconfig, err = pki.Kubeconfig(server, trust, leaf); err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	kubeconfigRequest.Status.ExpirationTimestamp = metav1.NewTime(leaf.Certificate.NotAfter)
	until := leaf.Certificate.NotAfter.UTC().Format(time.RFC3339)
	if err := s.record(ctx, r, until); err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Issued a kubeconfig", "hostedCluster", client.ObjectKeyFromObject(r.cluster).String(), "user", r.user.Username, "group", groups[r.subresource], "until", until)
	reply(w, http.StatusCreated, kubeconfigRequest)
	return nil
}

// record writes the event of a kubeconfig. It is an object of its own, and is written before the answer: recorders combine events of an
// object, so that the kubeconfig of a second user would not be seen, and lose those that the API server refuses.
func (s *Server) record(ctx context.Context, r *request, until string) error {
	instance, err := os.Hostname()
	if err != nil {
		instance = names.HypershiftOperator
	}
	regarding, err := reference.GetReference(s.Client.Scheme(), r.cluster)
	if err != nil {
		return fmt.Errorf("naming the cluster of an event: %w", err)
	}
	err = s.Client.Create(ctx, &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.cluster.Namespace, GenerateName: r.cluster.Name + "-"},
		EventTime:  metav1.NewMicroTime(s.Clock.Now()), Type: corev1.EventTypeNormal, Reason: "KubeconfigIssued", Action: "IssueKubeconfig", Regarding: *regarding,
		Note:                events.Shorten(fmt.Sprintf("User %s has got a kubeconfig of group %s that is valid until %s", r.user.Username, groups[r.subresource], until)),
		ReportingController: names.HypershiftOperator, ReportingInstance: instance,
	})
	if err != nil {
		return fmt.Errorf("recording the kubeconfig: %w", err)
	}
	return nil
}

// parseRequest returns the request with its defaults. A body is optional.
func parseRequest(r *request) (*accessv1alpha1.KubeconfigRequest, error) {
	kubeconfigRequest := &accessv1alpha1.KubeconfigRequest{}
	text, err := io.ReadAll(r.Body)
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, kubeconfigRequest)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the body is no %s: %v", accessv1alpha1.KubeconfigRequestKind, err))
	}
	if kubeconfigRequest.Spec.ExpirationSeconds == 0 {
		kubeconfigRequest.Spec.ExpirationSeconds = int64(accessv1alpha1.DefaultExpiration.Seconds())
	}
	shortest, longest := int64(accessv1alpha1.MinExpiration.Seconds()), int64(accessv1alpha1.MaxExpiration.Seconds())
	if kubeconfigRequest.Spec.ExpirationSeconds < shortest || kubeconfigRequest.Spec.ExpirationSeconds > longest {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("spec.expirationSeconds is %d: use a value from %d to %d", kubeconfigRequest.Spec.ExpirationSeconds, shortest, longest))
	}
	kubeconfigRequest.TypeMeta = metav1.TypeMeta{APIVersion: accessv1alpha1.GroupVersion.String(), Kind: accessv1alpha1.KubeconfigRequestKind}
	kubeconfigRequest.Metadata = metav1.ObjectMeta{Namespace: r.cluster.Namespace, Name: r.cluster.Name}
	kubeconfigRequest.Status = accessv1alpha1.KubeconfigRequestStatus{}
	return kubeconfigRequest, nil
}

// sign returns a client certificate for the user. It ends with the client signer of the control plane: a rotation or deletion of the signer
// revokes it.
func (s *Server) sign(ctx context.Context, r *request, validity time.Duration) (*pki.Leaf, error) {
	secret, err := s.secret(ctx, r, names.ClientSigner)
	if err != nil {
		return nil, err
	}
	signer, err := pki.DecodeSigner(secret.Data)
	if err != nil {
		return nil, fmt.Errorf("reading the client signer of the cluster: %w", err)
	}
	wanted := pki.Request{User: userPrefix + r.user.Username, Groups: []string{groups[r.subresource]}, Usage: pki.Client}
	return signer.Current.Issue(wanted, pki.Terms{Validity: validity}, s.Clock.Now())
}

// server returns the address of the API server for users, and the authorities that verify it. They come from the administrator's
// kubeconfig in the control plane's namespace: the copy in the user's namespace could be another one.
func (s *Server) server(ctx context.Context, r *request) (address string, trust []byte, _ error) {
	secret, err := s.secret(ctx, r, names.AdminKubeconfig)
	if err != nil {
		return "", nil, err
	}
	config, err := clientcmd.Load(secret.Data[names.AdminKubeconfigFile])
	if err != nil {
		return "", nil, fmt.Errorf("reading the kubeconfig of the administrator: %w", err)
	}
	for _, cluster := range config.Clusters {
		return cluster.Server, cluster.CertificateAuthorityData, nil
	}
	return "", nil, unavailable(errNoKubeconfig)
}

// secret reads a Secret of the control plane.
func (s *Server) secret(ctx context.Context, r *request, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := s.Reader.Get(ctx, client.ObjectKey{Namespace: plane(r), Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, unavailable(errNoKubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %s of the control plane: %w", name, err)
	}
	return secret, nil
}

// plane is the namespace of the control plane.
func plane(r *request) string {
	return names.ControlPlaneNamespace(r.cluster.Namespace, r.cluster.Name)
}

// unavailable is the error of a request that succeeds later.
func unavailable(err error) error { return apierrors.NewServiceUnavailable(err.Error()) }
