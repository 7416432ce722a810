package stage

import (
	"context"
	_ "embed" // operator.yaml
	"errors"
	"fmt"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/hosted-control-planes/hypershift/test/bed"
	"github.com/hosted-control-planes/hypershift/test/bed/accounts"
	"github.com/hosted-control-planes/hypershift/test/bed/podrunner"
)

// The hypershift-operator's Deployment.
const (
	OperatorNamespace = "hypershift"
	Operator          = "hypershift-operator"
)

//go:embed operator.yaml
var operator string

// startOperator installs the hypershift-operator: the permissions that we ship, and its Deployment.
func (s *Stage) startOperator(ctx context.Context) error {
	images, err := s.images(ctx)
	if err != nil {
		return err
	}
	s.Pods, err = podrunner.Start(ctx, podrunner.Options{
		Config: s.Config,
		Dir:    s.Dir,
		Images: images,
		// The way to AWS, and no credentials: those the operators have to bring themselves.
		Env:      []string{"AWS_ENDPOINT_URL=" + s.AWS.URL, "AWS_ENDPOINT_URL_STS=" + s.AWS.URL, "AWS_EC2_METADATA_DISABLED=true"},
		Progress: s.options.Progress,
	})
	if err != nil {
		return err
	}
	if err := s.ApplyYAML(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+OperatorNamespace+"}}"); err != nil {
		return err
	}
	permissions, err := filepath.Glob(s.Path("config", "rbac", "hypershift-operator", "*.yaml"))
	if err != nil {
		return err
	}
	if err := s.ApplyFiles(ctx, nil, append(permissions, s.Path("config", "scheduling", "priority_classes.yaml"))...); err != nil {
		return err
	}
	role, err := accounts.OperatorRole(ctx, s.AWS, s.Management.Account, s.Management.Bucket)
	if err != nil {
		return err
	}
	manifests, err := bed.Substitute(operator, map[string]string{
		"IMAGE":               Image,
		"CLUSTER_API_IMAGE":   ClusterAPIImage,
		"CAPI_PROVIDER_IMAGE": CAPIProviderImage,
		"MANAGEMENT_ACCOUNT":  s.Management.Account,
		"OPERATOR_ROLE":       role,
		"OIDC_BUCKET":         s.Management.Bucket,
		"AWS_REGION":          region,
	})
	if err != nil {
		return err
	}
	if err := s.ApplyYAML(ctx, manifests); err != nil {
		return err
	}
	return s.available(ctx, OperatorNamespace, Operator)
}

// available waits until a Deployment is.
func (s *Stage) available(ctx context.Context, namespace, name string) error {
	kube, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		return fmt.Errorf("waiting for Deployment %s: %w", name, err)
	}
	var last appsv1.DeploymentStatus
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		d, err := kube.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		last = d.Status
		return last.AvailableReplicas > 0, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("waiting for Deployment %s: %w: %+v", name, err, last.Conditions), errors.New(s.Tails()))
	}
	return nil
}
