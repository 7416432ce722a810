package operation

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keys of a Secret with credentials. They are the same as in other hypershift command lines.
const (
	accessKeyID     = "aws_access_key_id"
	secretAccessKey = "aws_secret_access_key"
	sessionToken    = "aws_session_token"
)

// secretCredentials returns the credentials in a Secret, as NAMESPACE/NAME.
func secretCredentials(ctx context.Context, env Environment, reference string) (aws.CredentialsProvider, error) {
	namespace, name, ok := strings.Cut(reference, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, &UsageError{Err: fmt.Errorf("--secret-creds: %q is not NAMESPACE/NAME", reference)}
	}
	data, err := env.Secret(ctx, namespace, name)
	if err != nil {
		return nil, fmt.Errorf("reading --secret-creds: %w", err)
	}
	id, key := string(data[accessKeyID]), string(data[secretAccessKey])
	if id == "" || key == "" {
		return nil, fmt.Errorf("the Secret %s does not have %s and %s", reference, accessKeyID, secretAccessKey)
	}
	return credentials.NewStaticCredentialsProvider(id, key, string(data[sessionToken])), nil
}

// readSecret reads a Secret with the kubeconfig of the user.
func readSecret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("loading the kubeconfig: %w", err)
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return nil, fmt.Errorf("connecting to the management cluster: %w", err)
	}
	secret := &corev1.Secret{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("reading Secret %s/%s: %w", namespace, name, err)
	}
	return secret.Data, nil
}
