package clusteraccess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	accessv1alpha1 "github.com/hosted-control-planes/hypershift/api/access/v1alpha1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/kubeconfig"
	"github.com/hosted-control-planes/hypershift/internal/portforward"
)

// errNotServed is returned where the operator does not serve the API group access.hypershift.openshift.io.
var errNotServed = errors.New("the management cluster does not serve the API group " + accessv1alpha1.GroupVersion.Group +
	": an administrator enables it with the value access.enabled of the chart")

// Request returns a short-lived kubeconfig of a hosted cluster: AdminKubeconfig or ViewerKubeconfig. It has one context, with the name
// ContextName. The user needs the permission to create the subresource in the namespace of the HostedCluster.
func Request(ctx context.Context, config *rest.Config, hc client.ObjectKey, subresource accessv1alpha1.Subresource, validity time.Duration) (*clientcmdapi.Config, time.Time, error) {
	issued, err := post(ctx, config, hc, subresource, accessv1alpha1.KubeconfigRequest{Spec: accessv1alpha1.KubeconfigRequestSpec{ExpirationSeconds: int64(validity.Seconds())}})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("requesting %s of HostedCluster %s: %w", subresource, hc, err)
	}
	// The text becomes part of the user's kubeconfig. It must not contain a program to run.
	if _, err := kubeconfig.Config(issued.Status.Kubeconfig); err != nil {
		return nil, time.Time{}, fmt.Errorf("the kubeconfig of HostedCluster %s %w", hc, err)
	}
	raw, err := clientcmd.Load(issued.Status.Kubeconfig)
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("the kubeconfig of HostedCluster %s %w", hc, kubeconfig.ErrUnreadable)
	}
	out, err := renamed(raw, ContextName(hc), string(subresource))
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("the kubeconfig of HostedCluster %s %w", hc, err)
	}
	return out, issued.Status.ExpirationTimestamp.Time, nil
}

func post(ctx context.Context, config *rest.Config, hc client.ObjectKey, subresource accessv1alpha1.Subresource, body accessv1alpha1.KubeconfigRequest) (*accessv1alpha1.KubeconfigRequest, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.GroupVersion = &schema.GroupVersion{}
	config.NegotiatedSerializer = serializer.NewCodecFactory(clustertree.Scheme()).WithoutConversion()
	caller, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	path := accessv1alpha1.Path(hc.Namespace, hc.Name, subresource)
	result := caller.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(text).Do(ctx)
	if err := result.Error(); err != nil { // the error of Raw has no message
		return nil, explain(err)
	}
	answer, err := result.Raw()
	if err != nil {
		return nil, err
	}
	issued := &accessv1alpha1.KubeconfigRequest{}
	if err := json.Unmarshal(answer, issued); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	return issued, nil
}

// explain turns the error for a path that does not exist into errNotServed. A missing HostedCluster leads to its own error.
func explain(err error) error {
	var status apierrors.APIStatus
	if apierrors.IsNotFound(err) && errors.As(err, &status) && (status.Status().Details == nil || status.Status().Details.Kind != accessv1alpha1.Resource) {
		return errNotServed
	}
	return err
}

// dialTunnel connects to the API server of a hosted cluster through the hypershift-operator.
func dialTunnel(ctx context.Context, config *rest.Config, hc client.ObjectKey) (net.Conn, error) {
	conn, err := portforward.DialPath(ctx, config, accessv1alpha1.Path(hc.Namespace, hc.Name, accessv1alpha1.Tunnel), apiPort)
	if err != nil {
		return nil, fmt.Errorf("opening a tunnel to HostedCluster %s: %w", hc, explain(err))
	}
	return conn, nil
}
