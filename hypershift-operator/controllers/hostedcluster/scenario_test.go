package hostedcluster

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
)

// change lets the user edit the cluster.
func (w *testEnv) change(t *testing.T, edit func(*hyperv1.HostedCluster)) {
	t.Helper()
	hc, err := w.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	edit(hc)
	if err := w.Admin().Update(t.Context(), hc); err != nil {
		t.Fatal(err)
	}
}

// want looks at a condition: its status, its reason, and words of its message.
func (w *testEnv) want(t *testing.T, condition string, status metav1.ConditionStatus, reason, words string) {
	t.Helper()
	c := w.condition(t, condition)
	if c.Status != status || c.Reason != reason || !strings.Contains(c.Message, words) {
		t.Errorf("%s is %s/%s %q, want %s/%s %q", condition, c.Status, c.Reason, c.Message, status, reason, words)
	}
}

func (w *testEnv) exists(t *testing.T, obj client.Object, key client.ObjectKey) bool {
	t.Helper()
	err := w.Admin().Get(t.Context(), key, obj)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

func (w *testEnv) object(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: plane, Name: name}
}

func TestEverythingStartsInOnePass(t *testing.T) {
	w := newTestEnv(t)
	w.run(t, w.start(), 1)
	for name, obj := range map[string]client.Object{
		"demo":                         &hyperv1.HostedControlPlane{},
		names.PullSecret:               &corev1.Secret{},
		names.ServiceAccountSigningKey: &corev1.Secret{},
		names.ControlPlaneOperator:     &appsv1.Deployment{},
	} {
		if !w.exists(t, obj, w.object(name)) {
			t.Errorf("%T %s is not there after one pass", obj, name)
		}
	}
	if _, ok := w.cloud.Object(bucket, "demo-x/"+webidentity.JWKSPath); !ok {
		t.Error("the documents are not published after one pass")
	}
	w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.StatusUnknownReason, "waiting for the first report of the control-plane-operator")
	w.want(t, hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, "")
}

func TestIdentifiersAreSetOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*hyperv1.HostedCluster)
		want string
	}{
		"from where its documents are published": {func(*hyperv1.HostedCluster) {}, "demo-x"},
		"freely, if the user publishes": {func(hc *hyperv1.HostedCluster) {
			hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{Name: "my-key"}
		}, "demo-"},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyTestEnv(t)
			hc := privateCluster()
			hc.Spec.InfraID = ""
			tc.edit(hc)
			w.Create(t, pullSecret(), hc)
			pass := w.start()
			w.run(t, pass, 1)
			first, err := w.get(t.Context())
			if err != nil || !strings.HasPrefix(first.Spec.InfraID, tc.want) || first.Spec.ClusterID == "" {
				t.Fatalf("infraID %q, clusterID %q, error %v", first.Spec.InfraID, first.Spec.ClusterID, err)
			}
			w.run(t, pass, 2)
			if again, _ := w.get(t.Context()); again.Spec.InfraID != first.Spec.InfraID || again.Spec.ClusterID != first.Spec.ClusterID {
				t.Errorf("identifiers changed: %q %q", again.Spec.InfraID, again.Spec.ClusterID)
			}
		})
	}
}

func TestAnUnknownInfraIDIsNotGenerated(t *testing.T) {
	for name, tc := range map[string]struct{ issuer, bucket, words string }{
		"an issuer in another bucket": {"https://theirs.s3.us-east-1.amazonaws.com/demo-x", bucket, "create the cluster with spec.issuerURL https://documents.s3.us-east-1.amazonaws.com/<infraID>"},
		"an issuer further down":      {"https://documents.s3.us-east-1.amazonaws.com/a/demo-x", bucket, "is not part of spec.issuerURL"},
		"an issuer without a path":    {"https://documents.s3.us-east-1.amazonaws.com", bucket, "is not part of spec.issuerURL"},
		"no bucket":                   {"https://documents.s3.us-east-1.amazonaws.com/demo-x", "", "set spec.infraID to what spec.issuerURL ends in"},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyTestEnv(t)
			w.bucket = tc.bucket
			hc := privateCluster()
			hc.Spec.InfraID, hc.Spec.IssuerURL = "", tc.issuer
			w.Create(t, pullSecret(), hc)
			w.run(t, w.start(), 2)
			w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigurationReason, tc.words)
			if hc, _ = w.get(t.Context()); hc.Spec.InfraID != "" {
				t.Errorf("infraID %s was set", hc.Spec.InfraID)
			}
		})
	}
}

func TestNothingIsCreatedForAnInvalidConfiguration(t *testing.T) {
	w := emptyTestEnv(t)
	hc := privateCluster()
	hc.Spec.Platform.AWS = nil
	w.Create(t, pullSecret(), hc)
	w.run(t, w.start(), 2)
	w.want(t, hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.PlatformConfigMissingReason, "add it")
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.PlatformConfigMissingReason, "ValidConfiguration: ")
	w.want(t, hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, "")
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.PlatformConfigMissingReason, "")
	if w.exists(t, &corev1.Namespace{}, client.ObjectKey{Name: plane}) {
		t.Error("a namespace was made")
	}
}

func TestSupport(t *testing.T) {
	for name, tc := range map[string]struct {
		region string
		access hyperv1.AWSEndpointAccessType
		status metav1.ConditionStatus
		words  string
	}{
		"private where endpoint services are made":        {region, hyperv1.Private, metav1.ConditionTrue, ""},
		"private in another region":                       {"eu-west-1", hyperv1.PublicAndPrivate, metav1.ConditionFalse, "region eu-west-1"},
		"private without --private-platform":              {"", hyperv1.Private, metav1.ConditionFalse, "--private-platform=AWS"},
		"public without --private-platform is no trouble": {"", hyperv1.Public, metav1.ConditionTrue, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyTestEnv(t)
			w.region = tc.region
			hc := privateCluster()
			hc.Spec.Platform.AWS.EndpointAccess = tc.access
			w.Create(t, pullSecret(), hc)
			w.run(t, w.start(), 1)
			reason := hyperv1.AsExpectedReason
			if tc.status == metav1.ConditionFalse {
				reason = hyperv1.UnsupportedClusterReason
			}
			w.want(t, hyperv1.SupportedHostedCluster, tc.status, reason, tc.words)
		})
	}
}

func TestConflictsWithAnOlderCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		second func(*hyperv1.HostedCluster)
		reason string
		words  string
	}{
		"infraID": {
			func(hc *hyperv1.HostedCluster) { hc.Name = "other" },
			hyperv1.InfraIDInUseReason, "infraID demo-x belongs to HostedCluster clusters/demo",
		},
		"namespace": {
			func(hc *hyperv1.HostedCluster) { hc.Namespace, hc.Name, hc.Spec.InfraID = "clusters-de", "mo", "other" },
			hyperv1.NamespaceInUseReason, "",
		},
		"host name": {
			func(hc *hyperv1.HostedCluster) {
				hc.Name, hc.Spec.InfraID = "other", "demo-y"
				hc.Spec.IssuerURL = "https://documents.s3.us-east-1.amazonaws.com/demo-y"
				hc.Spec.Services[0].ServicePublishingStrategy.LoadBalancer = &hyperv1.LoadBalancerPublishingStrategy{Hostname: "API.example.com"}
			},
			hyperv1.UnsupportedPublishingReason, "host name api.example.com, which belongs to HostedCluster clusters/demo: choose another",
		},
		"infraID, which is not set yet": {
			func(hc *hyperv1.HostedCluster) { hc.Name, hc.Spec.InfraID = "other", "" },
			hyperv1.InfraIDInUseReason, "infraID demo-x belongs to HostedCluster clusters/demo",
		},
		"namespace, because of a dot": {
			func(hc *hyperv1.HostedCluster) { hc.Namespace, hc.Name, hc.Spec.InfraID = "a", "b.c", "other" },
			hyperv1.NamespaceInUseReason, "HostedCluster a/b-c",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyTestEnv(t)
			first, second := privateCluster(), privateCluster()
			tc.second(second)
			switch name {
			case "host name":
				first.Spec.Services[2].ServicePublishingStrategy.Route = &hyperv1.RoutePublishingStrategy{Hostname: "api.example.com"}
			case "namespace":
				first.Namespace, first.Name = "clusters", "de-mo"
			case "namespace, because of a dot":
				first.Namespace, first.Name = "a", "b-c"
			}
			first.CreationTimestamp = metav1.NewTime(w.clock.Now().Add(-time.Hour))
			second.CreationTimestamp = metav1.NewTime(w.clock.Now())
			w.Create(t, first, second)
			pass := w.start()
			_ = pass(t.Context())
			hc := &hyperv1.HostedCluster{}
			if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(second), hc); err != nil {
				t.Fatal(err)
			}
			c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != tc.reason || !strings.Contains(c.Message, tc.words) {
				t.Errorf("the second cluster says %+v, want %s %q", c, tc.reason, tc.words)
			}
			if err := w.Admin().Get(t.Context(), client.ObjectKeyFromObject(first), hc); err != nil {
				t.Fatal(err)
			}
			if !meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.ValidHostedClusterConfiguration) {
				t.Errorf("the first cluster suffers: %+v", hc.Status.Conditions)
			}
		})
	}
}

func TestAForeignNamespaceIsNeitherUsedNorDeleted(t *testing.T) {
	w := emptyTestEnv(t)
	w.Create(t, pullSecret(), privateCluster(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plane, Labels: map[string]string{"mine": "true"}}})
	pass := w.start()
	w.run(t, pass, 2)
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.NamespaceInUseReason, "delete it, or give the HostedCluster another name")
	if err := w.Admin().Delete(t.Context(), privateCluster()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 3)
	ns := &corev1.Namespace{}
	if !w.exists(t, ns, client.ObjectKey{Name: plane}) || !ns.DeletionTimestamp.IsZero() || ns.Labels["mine"] != "true" || len(ns.Labels) != 1 {
		t.Errorf("the namespace was touched: %+v", ns.ObjectMeta)
	}
	if _, err := w.get(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("the cluster is still there: %v", err)
	}
}

func TestANamespaceThatIsNotInTheCacheYet(t *testing.T) {
	w := newTestEnv(t)
	w.lagging = true
	pass := w.start()
	for range 2 { // the second pass finds the objects of the first one, though not in the cache
		if err := pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	for _, obj := range []client.Object{privateCluster(), pool()} {
		if err := w.Admin().Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.clusterAPI(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if ns := (&corev1.Namespace{}); w.exists(t, ns, client.ObjectKey{Name: plane}) && ns.DeletionTimestamp.IsZero() {
		t.Error("the namespace was forgotten")
	}
}

func TestAMissingPullSecretBlocksTheReleaseOnly(t *testing.T) {
	w := emptyTestEnv(t)
	w.Create(t, privateCluster())
	pass := w.start()
	w.run(t, pass, 3)
	w.want(t, hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.SecretNotFoundReason, "Secret my-pull-secret, which spec.pullSecret names, does not exist in namespace clusters: create it")
	w.want(t, hyperv1.ValidReleaseImage, metav1.ConditionFalse, hyperv1.SecretNotFoundReason, "my-pull-secret")
	if w.exists(t, &hyperv1.HostedControlPlane{}, w.object("demo")) {
		t.Error("the control plane was told of a release that nobody has looked into")
	}
	if !w.exists(t, &appsv1.Deployment{}, w.object(names.ControlPlaneOperator)) {
		t.Error("there is no control-plane-operator")
	}
	w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	w.Create(t, pullSecret())
	w.run(t, pass, 5)
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

func TestTokenIssuer(t *testing.T) {
	t.Run("without a bucket", func(t *testing.T) {
		w := newTestEnv(t)
		w.bucket = ""
		w.run(t, w.start(), 2)
		w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.OIDCStorageMissingReason, "--oidc-storage-provider-s3-bucket-name")
	})
	t.Run("with a bucket that does not exist", func(t *testing.T) {
		w := emptyTestEnv(t)
		hc := privateCluster()
		hc.Spec.IssuerURL = "https://nowhere.s3.us-east-1.amazonaws.com/demo-x"
		w.Create(t, pullSecret(), hc)
		w.bucket = "nowhere"
		w.run(t, w.start(), 2)
		w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.OIDCStorageMissingReason, "NoSuchBucket")
	})
	t.Run("with an issuer in somebody else's bucket", func(t *testing.T) {
		w := emptyTestEnv(t)
		hc := privateCluster()
		hc.Spec.IssuerURL = "https://theirs.s3.us-east-1.amazonaws.com/demo-x"
		w.Create(t, pullSecret(), hc)
		w.run(t, w.start(), 2)
		w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.OIDCConfigurationInvalidReason, "https://documents.s3.us-east-1.amazonaws.com/demo-x")
	})
	t.Run("with a web server in front of the bucket", func(t *testing.T) {
		w := emptyTestEnv(t)
		hc := privateCluster()
		hc.Spec.IssuerURL = "https://oidc.example.com/demo-x"
		w.Create(t, pullSecret(), hc)
		w.run(t, w.start(), 4)
		w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "published in bucket documents")
		w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	})
	t.Run("with a bucket that we may not write", func(t *testing.T) {
		w := newTestEnv(t)
		w.cloud.Fault(fakeaws.Fault{Service: fakeaws.S3, Kind: fakeaws.Denied, Times: fakeaws.Forever})
		_ = w.start()(t.Context())
		w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, "AWSAccessDenied", "s3://documents/demo-x")
	})
	t.Run("documents that somebody spoils are put right", func(t *testing.T) {
		w := newTestEnv(t)
		pass := w.start()
		w.run(t, pass, 3)
		before, _ := w.cloud.Object(bucket, "demo-x/"+webidentity.JWKSPath)
		w.cloud.Account(provider).RemoveBucket(bucket)
		w.cloud.Account(provider).AddBucket(region, bucket)
		w.clock.Step(2 * time.Hour)
		w.run(t, pass, 1)
		if after, _ := w.cloud.Object(bucket, "demo-x/"+webidentity.JWKSPath); string(after) != string(before) {
			t.Errorf("got %q, want %q", after, before)
		}
	})
	t.Run("the key is RSA if the user wants it, and stays", func(t *testing.T) {
		w := emptyTestEnv(t)
		hc := privateCluster()
		hc.Annotations = map[string]string{hyperv1.SigningKeyTypeAnnotation: hyperv1.SigningKeyTypeRSA}
		w.Create(t, pullSecret(), hc)
		pass := w.start()
		w.run(t, pass, 1)
		keys, _ := w.cloud.Object(bucket, "demo-x/"+webidentity.JWKSPath)
		discovery, _ := w.cloud.Object(bucket, "demo-x/"+webidentity.DiscoveryPath)
		if !strings.Contains(string(keys), `"kty":"RSA"`) || !strings.Contains(string(discovery), `["RS256"]`) {
			t.Errorf("published are %s and %s", keys, discovery)
		}
		w.change(t, func(hc *hyperv1.HostedCluster) { delete(hc.Annotations, hyperv1.SigningKeyTypeAnnotation) })
		w.run(t, pass, 2)
		if after, _ := w.cloud.Object(bucket, "demo-x/"+webidentity.JWKSPath); string(after) != string(keys) {
			t.Errorf("got %s, want %s", after, keys)
		}
	})
	t.Run("the user's key is used, and its documents are the user's", func(t *testing.T) {
		w := emptyTestEnv(t)
		private, public, err := webidentity.GenerateKey()
		if err != nil {
			t.Fatal(err)
		}
		hc := privateCluster()
		hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{Name: "my-key"}
		w.Create(t, pullSecret(), hc, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "my-key"}, Data: map[string][]byte{"key": private}})
		w.run(t, w.start(), 4)
		secret := &corev1.Secret{}
		if !w.exists(t, secret, w.object(names.ServiceAccountSigningKey)) || string(secret.Data[names.ServiceAccountPublicKeyFile]) != string(public) {
			t.Error("the user's key is not used")
		}
		w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "the user's to publish")
		w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
		if _, ok := w.cloud.Object(bucket, "demo-x/"+webidentity.JWKSPath); ok {
			t.Error("documents were published in the user's place")
		}
	})
	t.Run("a key that is none", func(t *testing.T) {
		w := emptyTestEnv(t)
		hc := privateCluster()
		hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{Name: "my-key"}
		w.Create(t, pullSecret(), hc, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "my-key"}, Data: map[string][]byte{"key": []byte("rubbish")}})
		w.run(t, w.start(), 1)
		w.want(t, hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "Secret my-key, which spec.serviceAccountSigningKey names, cannot be used")
	})
}

func TestPause(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.change(t, func(hc *hyperv1.HostedCluster) {
		hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hc.Spec.Release.Image = "example.test/release:2"
	})
	w.run(t, pass, 2)
	w.want(t, hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, "remove it to go on")
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	w.wantControlPlane(t, "true", "example.test/release:1")

	w.change(t, func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = nil })
	w.run(t, pass, 1)
	w.want(t, hyperv1.ReconciliationActive, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	w.wantControlPlane(t, "false", "example.test/release:2")
}

func (w *testEnv) wantControlPlane(t *testing.T, paused hyperv1.PausedUntil, release string) {
	t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !w.exists(t, hcp, w.object("demo")) {
		t.Fatal("there is no control plane")
	}
	if got := ptr.Deref(hcp.Spec.PausedUntil, ""); got != paused || hcp.Spec.ReleaseImage != release {
		t.Errorf("the control plane has pausedUntil %q and release %q, want %q and %q", got, hcp.Spec.ReleaseImage, paused, release)
	}
}

func TestAPauseDoesNotStopTheDeletion(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.change(t, func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
	if err := w.Admin().Delete(t.Context(), privateCluster()); err != nil {
		t.Fatal(err)
	}
	w.run(t, pass, 10)
	if _, err := w.get(t.Context()); !apierrors.IsNotFound(err) {
		t.Errorf("the cluster is still there: %v", err)
	}
}

func TestDeletionReportsWhatItWaitsFor(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.refused = true
	if err := w.Admin().Delete(t.Context(), privateCluster()); err != nil {
		t.Fatal(err)
	}
	if err := pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "waiting for the machines of node pools workers to be deleted")
	w.run(t, pass, 2)
	w.want(t, hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "waiting for AWSEndpointServices to be deleted: private-router")
	w.want(t, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesRemainingReason, "private-router")
	if !w.exists(t, &corev1.Namespace{}, client.ObjectKey{Name: plane}) {
		t.Error("the namespace went before the endpoints")
	}
	if _, ok := w.cloud.Object(bucket, "demo-x/"+webidentity.JWKSPath); !ok {
		t.Error("the documents went before the endpoints: nobody can delete them any more")
	}
}

// identity sets the control-plane-operator's report about its AWS identity from now on.
func (w *testEnv) identity(t *testing.T, status metav1.ConditionStatus) {
	t.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !w.exists(t, hcp, w.object("demo")) {
		t.Fatal("there is no control plane")
	}
	reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: hyperv1.ValidAWSIdentityProvider, Status: status, Reason: "Said", Message: "no OIDC provider"}, w.clock.Now())
	if err := w.Admin().Status().Update(context.Background(), hcp); err != nil {
		t.Fatal(err)
	}
}

func (w *testEnv) wantEvent(t *testing.T, reason, words string) {
	t.Helper()
	for {
		select {
		case e := <-w.events.Events:
			if strings.Contains(e, reason) && strings.Contains(e, words) {
				return
			}
		default:
			t.Fatalf("no event %s %q", reason, words)
		}
	}
}

func TestUsersCannotChooseTheImageOfTheOperator(t *testing.T) {
	for name, tc := range map[string]struct {
		allowed bool
		image   string
		fields  metav1.ConditionStatus
		words   string
	}{
		"by default":                {false, image, metav1.ConditionFalse, "--allow-control-plane-operator-image-override"},
		"unless this is said to be": {true, "example.test/mine:1", metav1.ConditionTrue, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := emptyTestEnv(t)
			w.imageOverride = tc.allowed
			hc := privateCluster()
			hc.Annotations = map[string]string{hyperv1.ControlPlaneOperatorImageAnnotation: "example.test/mine:1"}
			w.Create(t, pullSecret(), hc)
			w.run(t, w.start(), 1)
			d := &appsv1.Deployment{}
			if !w.exists(t, d, w.object(names.ControlPlaneOperator)) || d.Spec.Template.Spec.Containers[0].Image != tc.image {
				t.Errorf("got %+v, want image %s", d.Spec.Template.Spec.Containers, tc.image)
			}
			w.wantStatus(t, hyperv1.SupportedFields, tc.fields, tc.words)
		})
	}
}

func (w *testEnv) wantStatus(t *testing.T, condition string, status metav1.ConditionStatus, words string) {
	t.Helper()
	w.want(t, condition, status, w.condition(t, condition).Reason, words)
}

// An edit is no outage. Reports of the control-plane-operator from before it do not count for Ready and Progressing.
func TestAnEditThatIsNotObservedIsNoOutage(t *testing.T) {
	w := newTestEnv(t)
	pass := w.start()
	w.run(t, pass, 4)
	w.wantStatus(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
	w.change(t, func(hc *hyperv1.HostedCluster) {
		hc.Spec.Release.Image = "example.test/release:2"
		hc.Generation = 2 // as an API server counts
	})
	unseen := func(when string) {
		t.Helper()
		if c := w.condition(t, hyperv1.InfrastructureReady); c.Status != metav1.ConditionTrue || c.ObservedGeneration == 2 {
			t.Errorf("%s: %+v", when, c)
		}
		w.wantStatus(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
		w.want(t, hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, "has not been observed yet")
		w.want(t, hyperv1.HostedClusterReady, metav1.ConditionFalse, hyperv1.ProgressingReason, "has not been observed yet")
	}
	once := func() {
		t.Helper()
		if err := pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	once()
	unseen("while the change is handed on")
	hcp := &hyperv1.HostedControlPlane{}
	if !w.exists(t, hcp, w.object("demo")) {
		t.Fatal("there is no control plane")
	}
	hcp.Generation = 2
	if err := w.Admin().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	once()
	unseen("before the control-plane-operator has looked")
	for i := range hcp.Status.Conditions {
		hcp.Status.Conditions[i].ObservedGeneration = 2
	}
	if err := w.Admin().Status().Update(t.Context(), hcp); err != nil {
		t.Fatal(err)
	}
	once()
	if c := w.condition(t, hyperv1.InfrastructureReady); c.ObservedGeneration != 2 {
		t.Errorf("afterwards: %+v", c)
	}
	w.wantStatus(t, hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
}
