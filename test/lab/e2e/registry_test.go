//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/pki"
	"github.com/hosted-control-planes/hypershift/internal/portforward"
	"github.com/hosted-control-planes/hypershift/test/lab/cluster"
	"github.com/hosted-control-planes/hypershift/test/lab/images"
)

// TestRegistry gives a cluster the image registry of its release. A user with permissions in a namespace pushes an image, and a node pulls it. Other
// users cannot push. The garbage collection deletes the layers of a deleted image, and meanwhile refuses pushes. The deletion of the cluster leaves
// no bucket.
func TestRegistry(t *testing.T) {
	begin(t)
	h := newHosted(t, "registry", on.Versions[0])
	pushed, err := images.Push(t.Context(), images.Options{Registry: cluster.Registry, Progress: t.Output()}, images.ImageRegistry)
	h.must(err)
	h.hc.Spec.Release.Image, err = on.PushRelease(t.Context(), "v"+on.Versions[0]+"-registry", on.Versions[0], map[string]string{images.ImageRegistry: pushed[images.ImageRegistry]})
	h.must(err)
	h.must(h.customer.PermitImageRegistry(t.Context(), on.AWS))
	h.hc.Spec.Capabilities = &hyperv1.Capabilities{Enabled: []hyperv1.OptionalCapability{hyperv1.ImageRegistryCapability}}
	h.hc.Spec.Platform.AWS.RolesRef.ImageRegistryARN = hyperv1.RoleARN(h.customer.ImageRegistryRole)
	h.t.Cleanup(func() { h.noBucket(context.WithoutCancel(t.Context())) }) // after the deletion
	h.create()
	pool := h.nodePool("registry", 1)
	h.must(h.management.Create(t.Context(), pool))
	h.available()
	h.eventually("the machine is a node", func(ctx context.Context) error { return h.poolReady(ctx, pool, 1) })
	h.waitForCondition(hyperv1.ImageRegistryBucketAvailable, "True")
	h.waitForCondition(hyperv1.ImageRegistryAvailable, "True")
	h.bucketIsClosed()

	runAll(t, h.kubeconfig, []command{
		{name: "create a namespace", args: "create namespace shop", want: "namespace/shop created"},
		{name: "create an account", args: "create serviceaccount builder -n shop", want: "serviceaccount/builder created"},
		{name: "it may edit the namespace", args: "create rolebinding builder -n shop --clusterrole=edit --serviceaccount=shop:builder", want: "rolebinding.rbac.authorization.k8s.io/builder created"},
	})
	builder := h.registryUser("builder", strings.TrimSpace(h.kubectl("create token builder -n shop")))
	outsider := h.registryUser("default", strings.TrimSpace(h.kubectl("create token default -n default")))
	busybox, err := imageOf(t.Context(), on.Images["busybox"])
	h.must(err)
	h.eventually("a user pushes an image", func(ctx context.Context) error { return builder.push(ctx, "shop/web:1", busybox) })
	began := time.Now()
	runAll(t, h.kubeconfig, []command{
		{name: "run the image", args: "run web -n shop --image=" + names.ImageRegistryHost + "/shop/web:1 --restart=Never -- sleep 3600", want: "pod/web created"},
		{name: "a node has pulled it", args: "wait -n shop --for=condition=Ready pod/web --timeout=60s", want: "condition met"},
	})
	t.Logf("%5.1f s from the pod to its start, with the pull", time.Since(began).Seconds())

	theirs, err := random.Image(1<<10, 1) // of an image that exists, nothing would be sent
	h.must(err)
	for what, refused := range map[string]func(context.Context) error{
		"denied":       func(ctx context.Context) error { return outsider.push(ctx, "shop/web:1", theirs) },
		"unauthorized": func(ctx context.Context) error { return h.registryUser("", "").push(ctx, "shop/web:1", theirs) },
		"has only repositories with names": func(ctx context.Context) error {
			return builder.push(ctx, "web:1", theirs)
		},
	} {
		if err := refused(t.Context()); err == nil || !strings.Contains(strings.ToLower(err.Error()), what) {
			t.Errorf("got %v, want %q", err, what)
		}
	}

	runAll(t, h.kubeconfig, []command{{
		name: "add credentials for images of another registry", want: "secret/additional-pull-secret created",
		args: `create secret generic additional-pull-secret -n kube-system --type=kubernetes.io/dockerconfigjson --from-literal=.dockerconfigjson={"auths":{"registry.example.com":{"auth":"dTpw"}}}`,
	}})
	h.waitForCondition(hyperv1.AdditionalPullSecretMerged, "True", "registry.example.com")
	h.eventually("the Secret that nodes read has them", func(context.Context) error {
		text, err := base64.StdEncoding.DecodeString(h.kubectl(`get secret hypershift-pull-secret -n kube-system -o jsonpath={.data.\.dockerconfigjson}`))
		if err == nil && !strings.Contains(string(text), "registry.example.com") {
			err = errors.New("it does not")
		}
		return err
	})

	h.collectsGarbage(builder)
	runAll(t, h.kubeconfig, []command{
		{name: "run the image again", args: "run again -n shop --image=" + names.ImageRegistryHost + "/shop/web:1 --image-pull-policy=Always --restart=Never -- sleep 3600", want: "pod/again created"},
		{name: "a node has pulled it", args: "wait -n shop --for=condition=Ready pod/again --timeout=60s", want: "condition met"},
	})
}

// collectsGarbage deletes an image, and waits until its layers are gone.
func (h *hosted) collectsGarbage(builder *registryUser) {
	h.t.Helper()
	old, err := random.Image(1<<20, 3)
	h.must(err)
	h.must(builder.push(h.t.Context(), "shop/old:1", old))
	h.expectLayers(old, true)
	digest, err := old.Digest()
	h.must(err)
	h.must(builder.delete(h.t.Context(), "shop/old@"+digest.String()))
	h.kubectl("create job collection -n kube-system --from=cronjob/image-registry-garbage-collection")
	push := func(ctx context.Context) error {
		image, err := random.Image(1<<10, 1) // of an image that exists, nothing would be sent
		if err != nil {
			return err
		}
		return builder.push(ctx, "shop/new:1", image)
	}
	h.eventually("a push is refused during the garbage collection", func(ctx context.Context) error {
		err := push(ctx)
		if err == nil {
			return errors.New("it is not")
		}
		if !strings.Contains(err.Error(), "garbage collection") {
			return err
		}
		return nil
	})
	h.kubectl("wait job/collection -n kube-system --for=condition=Complete --timeout=120s")
	h.expectLayers(old, false)
	h.eventually("a push is accepted again", push)
}

// expectLayers checks whether the layers of an image are in the bucket.
func (h *hosted) expectLayers(image v1.Image, want bool) {
	h.t.Helper()
	api, bucket, err := h.bucket(h.t.Context())
	h.must(err)
	layers, err := image.Layers()
	h.must(err)
	for _, layer := range layers {
		digest, err := layer.Digest()
		h.must(err)
		key := "docker/registry/v2/blobs/" + digest.Algorithm + "/" + digest.Hex[:2] + "/" + digest.Hex + "/data"
		_, err = api.HeadObject(h.t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &key})
		if exists := err == nil; exists != want {
			h.t.Errorf("layer %s is in the bucket: %v (%v)", digest, exists, err)
		}
	}
}

// imageOf reads an image of the lab.
func imageOf(ctx context.Context, reference string) (v1.Image, error) {
	ref, err := name.ParseReference(reference, name.Insecure)
	if err != nil {
		return nil, err
	}
	return remote.Image(ref, remote.WithContext(ctx))
}

// registryUser pushes images from outside of the cluster, through a forwarded port.
type registryUser struct{ options []remote.Option }

func (h *hosted) registryUser(username, token string) *registryUser {
	h.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", h.kubeconfig)
	h.must(err)
	authority := &corev1.ConfigMap{}
	h.must(h.management.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace(), Name: names.RootCA}, authority))
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(authority.Data[pki.TrustKey]))
	pod := strings.TrimSpace(h.kubectl("get pod -n kube-system -l k8s-app=image-registry -o jsonpath={.items[0].metadata.name}"))
	u := &registryUser{options: []remote.Option{remote.WithTransport(&http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: trusted}, DialContext: forwarded(config, portforward.Pod{Namespace: metav1.NamespaceSystem, Name: pod, Port: 8443}),
	})}}
	if username != "" {
		u.options = append(u.options, remote.WithAuth(&authn.Basic{Username: username, Password: token}))
	}
	return u
}

func forwarded(config *rest.Config, pod portforward.Pod) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, _ string) (net.Conn, error) { return portforward.Dial(ctx, config, pod) }
}

func (u *registryUser) push(ctx context.Context, reference string, image v1.Image) error {
	ref, err := name.ParseReference(names.ImageRegistryHost + "/" + reference)
	if err != nil {
		return err
	}
	return remote.Write(ref, image, append(u.options, remote.WithContext(ctx))...)
}

func (u *registryUser) delete(ctx context.Context, reference string) error {
	ref, err := name.ParseReference(names.ImageRegistryHost + "/" + reference)
	if err != nil {
		return err
	}
	return remote.Delete(ref, append(u.options, remote.WithContext(ctx))...)
}

// bucket returns S3 in the customer's account, and the bucket of the registry, or "".
func (h *hosted) bucket(ctx context.Context) (api *s3.Client, bucket string, err error) {
	api = s3.NewFromConfig(on.AWS.Config(h.customer.Account), func(o *s3.Options) { o.UsePathStyle = true })
	out, err := api.ListBuckets(ctx, nil)
	if err != nil {
		return nil, "", err
	}
	for _, b := range out.Buckets {
		if strings.HasPrefix(aws.ToString(b.Name), h.customer.InfraID+"-image-registry-") {
			bucket = aws.ToString(b.Name)
		}
	}
	return api, bucket, nil
}

// bucketIsClosed checks that the bucket is encrypted, and that nothing makes it public.
func (h *hosted) bucketIsClosed() {
	h.t.Helper()
	api, bucket, err := h.bucket(h.t.Context())
	h.must(err)
	block, err := api.GetPublicAccessBlock(h.t.Context(), &s3.GetPublicAccessBlockInput{Bucket: &bucket})
	h.must(err)
	b := block.PublicAccessBlockConfiguration
	for _, on := range []*bool{b.BlockPublicAcls, b.BlockPublicPolicy, b.IgnorePublicAcls, b.RestrictPublicBuckets} {
		if !aws.ToBool(on) {
			h.t.Errorf("the public access block of bucket %s is %+v", bucket, b)
		}
	}
	encryption, err := api.GetBucketEncryption(h.t.Context(), &s3.GetBucketEncryptionInput{Bucket: &bucket})
	h.must(err)
	if rule := encryption.ServerSideEncryptionConfiguration.Rules[0]; rule.ApplyServerSideEncryptionByDefault.SSEAlgorithm != types.ServerSideEncryptionAes256 {
		h.t.Errorf("the encryption of bucket %s is %+v", bucket, rule)
	}
}

// noBucket fails the test if the bucket is left.
func (h *hosted) noBucket(ctx context.Context) {
	if _, bucket, err := h.bucket(ctx); err != nil || bucket != "" {
		h.t.Errorf("bucket %q is left: %v", bucket, err)
	}
}
