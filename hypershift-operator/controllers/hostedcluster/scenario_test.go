package hostedcluster

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/reconcile"
	"github.com/hosted-control-planes/hypershift/internal/webidentity"
	"github.com/hosted-control-planes/hypershift/test/fakeaws"
	"github.com/hosted-control-planes/hypershift/test/testenv"
)

func (e *managementCluster) change(change func(*hyperv1.HostedCluster)) {
	e.T.Helper()
	testenv.Change(e.Env, privateCluster(), change)
}

func TestEverythingStartsInOnePass(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(1)
	for name, obj := range map[string]client.Object{
		"demo":                         &hyperv1.HostedControlPlane{},
		names.PullSecret:               &corev1.Secret{},
		names.ServiceAccountSigningKey: &corev1.Secret{},
		names.ControlPlaneOperator:     &appsv1.Deployment{},
	} {
		if !e.Has(obj, name) {
			t.Errorf("%T %s is not there after one pass", obj, name)
		}
	}
	if _, ok := e.AWS.Object(bucket, "demo-x/"+webidentity.JWKSPath); !ok {
		t.Error("the documents are not published after one pass")
	}
	e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.StatusUnknownReason, "waiting for the first report of the control-plane-operator")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, "")
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
			e := newEmptyManagementCluster(t)
			hc := privateCluster()
			hc.Spec.InfraID = ""
			tc.edit(hc)
			e.Create(testenv.PullSecret(), hc)
			e.Restart()
			e.Run(1)
			first := e.hc()
			if !strings.HasPrefix(first.Spec.InfraID, tc.want) || first.Spec.ClusterID == "" {
				t.Fatalf("infraID %q, clusterID %q", first.Spec.InfraID, first.Spec.ClusterID)
			}
			e.Run(2)
			if again := e.hc(); again.Spec.InfraID != first.Spec.InfraID || again.Spec.ClusterID != first.Spec.ClusterID {
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
			e := newEmptyManagementCluster(t)
			e.bucket = tc.bucket
			hc := privateCluster()
			hc.Spec.InfraID, hc.Spec.IssuerURL = "", tc.issuer
			e.Create(testenv.PullSecret(), hc)
			e.Restart()
			e.Run(2)
			e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.InvalidConfigurationReason, tc.words)
			if hc = e.hc(); hc.Spec.InfraID != "" {
				t.Errorf("infraID %s was set", hc.Spec.InfraID)
			}
		})
	}
}

func TestNothingIsCreatedForAnInvalidConfiguration(t *testing.T) {
	e := newEmptyManagementCluster(t)
	hc := privateCluster()
	hc.Spec.Platform.AWS = nil
	e.Create(testenv.PullSecret(), hc)
	e.Restart()
	e.Run(2)
	e.ExpectCondition(hyperv1.ValidHostedClusterConfiguration, metav1.ConditionFalse, hyperv1.PlatformConfigMissingReason, "add it")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.PlatformConfigMissingReason, "ValidConfiguration: ")
	e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionFalse, hyperv1.BlockedReason, "")
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.PlatformConfigMissingReason, "")
	if e.Exists(planeNamespace()) {
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
			e := newEmptyManagementCluster(t)
			e.region = tc.region
			hc := privateCluster()
			hc.Spec.Platform.AWS.EndpointAccess = tc.access
			e.Create(testenv.PullSecret(), hc)
			e.Restart()
			e.Run(1)
			reason := hyperv1.AsExpectedReason
			if tc.status == metav1.ConditionFalse {
				reason = hyperv1.UnsupportedClusterReason
			}
			e.ExpectCondition(hyperv1.SupportedHostedCluster, tc.status, reason, tc.words)
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
			e := newEmptyManagementCluster(t)
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
			first.CreationTimestamp = metav1.NewTime(e.Clock.Now().Add(-time.Hour))
			second.CreationTimestamp = metav1.NewTime(e.Clock.Now())
			e.Create(first, second)
			e.Restart()
			_ = e.Try()
			hc := &hyperv1.HostedCluster{}
			e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(second), hc))
			c := meta.FindStatusCondition(hc.Status.Conditions, hyperv1.ValidHostedClusterConfiguration)
			if c == nil || c.Status != metav1.ConditionFalse || c.Reason != tc.reason || !strings.Contains(c.Message, tc.words) {
				t.Errorf("the second cluster says %+v, want %s %q", c, tc.reason, tc.words)
			}
			e.Must(e.Admin().Get(t.Context(), client.ObjectKeyFromObject(first), hc))
			if !meta.IsStatusConditionTrue(hc.Status.Conditions, hyperv1.ValidHostedClusterConfiguration) {
				t.Errorf("the first cluster suffers: %+v", hc.Status.Conditions)
			}
		})
	}
}

func TestAForeignNamespaceIsNeitherUsedNorDeleted(t *testing.T) {
	e := newEmptyManagementCluster(t)
	e.Create(testenv.PullSecret(), privateCluster(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: plane, Labels: map[string]string{"mine": "true"}}})
	e.Restart()
	e.Run(2)
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.NamespaceInUseReason, "delete it, or give the HostedCluster another name")
	e.Delete(privateCluster())
	e.Run(3)
	ns := planeNamespace()
	if !e.Exists(ns) || !ns.DeletionTimestamp.IsZero() || ns.Labels["mine"] != "true" || len(ns.Labels) != 1 {
		t.Errorf("the namespace was touched: %+v", ns.ObjectMeta)
	}
	if e.Exists(privateCluster()) {
		t.Error("the cluster is still there")
	}
}

func TestANamespaceThatIsNotInTheCacheYet(t *testing.T) {
	e := newManagementCluster(t)
	e.lagging = true
	e.Restart()
	for range 2 { // the second pass finds the objects of the first one, though not in the cache
		e.Must(e.Try())
	}
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	for _, obj := range []client.Object{privateCluster(), pool()} {
		e.Delete(obj)
	}
	e.Must(e.clusterAPI(t.Context()))
	for range 2 {
		e.Must(e.Try())
	}
	if ns := planeNamespace(); e.Exists(ns) && ns.DeletionTimestamp.IsZero() {
		t.Error("the namespace was forgotten")
	}
}

func TestAMissingPullSecretBlocksTheReleaseOnly(t *testing.T) {
	e := newEmptyManagementCluster(t)
	e.Create(privateCluster())
	e.Restart()
	e.Run(3)
	e.ExpectCondition(hyperv1.ReconciliationSucceeded, metav1.ConditionFalse, hyperv1.SecretNotFoundReason, "Secret my-pull-secret, which spec.pullSecret names, does not exist in namespace clusters: create it")
	e.ExpectCondition(hyperv1.ValidReleaseImage, metav1.ConditionFalse, hyperv1.SecretNotFoundReason, "my-pull-secret")
	if e.Has(&hyperv1.HostedControlPlane{}, "demo") {
		t.Error("the control plane was told of a release that nobody has looked into")
	}
	if !e.Has(&appsv1.Deployment{}, names.ControlPlaneOperator) {
		t.Error("there is no control-plane-operator")
	}
	e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.Create(testenv.PullSecret())
	e.Run(5)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
}

func TestTokenIssuer(t *testing.T) {
	t.Run("without a bucket", func(t *testing.T) {
		e := newManagementCluster(t)
		e.bucket = ""
		e.Restart()
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.OIDCStorageMissingReason, "--oidc-storage-provider-s3-bucket-name")
	})
	t.Run("with a bucket that does not exist", func(t *testing.T) {
		e := newEmptyManagementCluster(t)
		hc := privateCluster()
		hc.Spec.IssuerURL = "https://nowhere.s3.us-east-1.amazonaws.com/demo-x"
		e.Create(testenv.PullSecret(), hc)
		e.bucket = "nowhere"
		e.Restart()
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.OIDCStorageMissingReason, "NoSuchBucket")
	})
	t.Run("with an issuer in somebody else's bucket", func(t *testing.T) {
		e := newEmptyManagementCluster(t)
		hc := privateCluster()
		hc.Spec.IssuerURL = "https://theirs.s3.us-east-1.amazonaws.com/demo-x"
		e.Create(testenv.PullSecret(), hc)
		e.Restart()
		e.Run(2)
		e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.OIDCConfigurationInvalidReason, "https://documents.s3.us-east-1.amazonaws.com/demo-x")
	})
	t.Run("with a web server in front of the bucket", func(t *testing.T) {
		e := newEmptyManagementCluster(t)
		hc := privateCluster()
		hc.Spec.IssuerURL = "https://oidc.example.com/demo-x"
		e.Create(testenv.PullSecret(), hc)
		e.Restart()
		e.Run(4)
		e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "published in bucket documents")
		e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	})
	t.Run("with a bucket that we may not write", func(t *testing.T) {
		e := newManagementCluster(t)
		e.AWS.Fault(fakeaws.Fault{Service: fakeaws.S3, Kind: fakeaws.Denied, Times: fakeaws.Forever})
		_ = e.start()(t.Context())
		e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, "AWSAccessDenied", "s3://documents/demo-x")
	})
	t.Run("documents that somebody spoils are put right", func(t *testing.T) {
		e := newManagementCluster(t)
		e.Run(3)
		before, _ := e.AWS.Object(bucket, "demo-x/"+webidentity.JWKSPath)
		e.AWS.Account(provider).RemoveBucket(bucket)
		e.AWS.Account(provider).AddBucket(region, bucket)
		e.Clock.Step(2 * time.Hour)
		e.Run(1)
		if after, _ := e.AWS.Object(bucket, "demo-x/"+webidentity.JWKSPath); string(after) != string(before) {
			t.Errorf("got %q, want %q", after, before)
		}
	})
	t.Run("the key is RSA if the user wants it, and stays", func(t *testing.T) {
		e := newEmptyManagementCluster(t)
		hc := privateCluster()
		hc.Annotations = map[string]string{hyperv1.SigningKeyTypeAnnotation: hyperv1.SigningKeyTypeRSA}
		e.Create(testenv.PullSecret(), hc)
		e.Restart()
		e.Run(1)
		keys, _ := e.AWS.Object(bucket, "demo-x/"+webidentity.JWKSPath)
		discovery, _ := e.AWS.Object(bucket, "demo-x/"+webidentity.DiscoveryPath)
		if !strings.Contains(string(keys), `"kty":"RSA"`) || !strings.Contains(string(discovery), `["RS256"]`) {
			t.Errorf("published are %s and %s", keys, discovery)
		}
		e.change(func(hc *hyperv1.HostedCluster) { delete(hc.Annotations, hyperv1.SigningKeyTypeAnnotation) })
		e.Run(2)
		if after, _ := e.AWS.Object(bucket, "demo-x/"+webidentity.JWKSPath); string(after) != string(keys) {
			t.Errorf("got %s, want %s", after, keys)
		}
	})
	t.Run("the user's key is used, and its documents are the user's", func(t *testing.T) {
		e := newEmptyManagementCluster(t)
		private, public, err := webidentity.GenerateKey()
		e.Must(err)
		hc := privateCluster()
		hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{Name: "my-key"}
		e.Create(testenv.PullSecret(), hc, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "my-key"}, Data: map[string][]byte{"key": private}})
		e.Restart()
		e.Run(4)
		secret := &corev1.Secret{}
		if !e.Has(secret, names.ServiceAccountSigningKey) || string(secret.Data[names.ServiceAccountPublicKeyFile]) != string(public) {
			t.Error("the user's key is not used")
		}
		e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionUnknown, hyperv1.StatusUnknownReason, "the user's to publish")
		e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
		if _, ok := e.AWS.Object(bucket, "demo-x/"+webidentity.JWKSPath); ok {
			t.Error("documents were published in the user's place")
		}
	})
	t.Run("a key that is none", func(t *testing.T) {
		e := newEmptyManagementCluster(t)
		hc := privateCluster()
		hc.Spec.ServiceAccountSigningKey = &corev1.LocalObjectReference{Name: "my-key"}
		e.Create(testenv.PullSecret(), hc, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "my-key"}, Data: map[string][]byte{"key": []byte("rubbish")}})
		e.Restart()
		e.Run(1)
		e.ExpectCondition(hyperv1.ValidOIDCConfiguration, metav1.ConditionFalse, hyperv1.InvalidSecretReason, "Secret my-key, which spec.serviceAccountSigningKey names, cannot be used")
	})
}

func TestPause(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true"))
		hc.Spec.Release.Image = "example.test/release:2"
	})
	e.Run(2)
	e.ExpectCondition(hyperv1.ReconciliationActive, metav1.ConditionFalse, hyperv1.ReconciliationPausedReason, "remove it to go on")
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.wantControlPlane("true", "example.test/release:1")

	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = nil })
	e.Run(1)
	e.ExpectCondition(hyperv1.ReconciliationActive, metav1.ConditionTrue, hyperv1.AsExpectedReason, "")
	e.wantControlPlane("false", "example.test/release:2")
}

func (e *managementCluster) wantControlPlane(paused hyperv1.PausedUntil, release string) {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") {
		e.T.Fatal("there is no control plane")
	}
	if got := ptr.Deref(hcp.Spec.PausedUntil, ""); got != paused || hcp.Spec.ReleaseImage != release {
		e.T.Errorf("the control plane has pausedUntil %q and release %q, want %q and %q", got, hcp.Spec.ReleaseImage, paused, release)
	}
}

func TestAPauseDoesNotStopTheDeletion(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.change(func(hc *hyperv1.HostedCluster) { hc.Spec.PausedUntil = ptr.To(hyperv1.PausedUntil("true")) })
	e.Delete(privateCluster())
	e.Run(10)
	if e.Exists(privateCluster()) {
		t.Error("the cluster is still there")
	}
}

func TestDeletionReportsWhatItWaitsFor(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.refused = true
	e.Delete(privateCluster())
	e.Must(e.Try())
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "waiting for the machines of node pools workers to be deleted")
	e.Run(2)
	e.ExpectCondition(hyperv1.HostedClusterAvailable, metav1.ConditionFalse, hyperv1.DeletingReason, "waiting for AWSEndpointServices to be deleted: private-router")
	e.ExpectCondition(hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.CloudResourcesRemainingReason, "private-router")
	if !e.Exists(planeNamespace()) {
		t.Error("the namespace went before the endpoints")
	}
	if _, ok := e.AWS.Object(bucket, "demo-x/"+webidentity.JWKSPath); !ok {
		t.Error("the documents went before the endpoints: nobody can delete them any more")
	}
}

// identity sets the control-plane-operator's report about its AWS identity from now on.
func (e *managementCluster) identity(status metav1.ConditionStatus) {
	e.T.Helper()
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") {
		e.T.Fatal("there is no control plane")
	}
	reconcile.SetCondition(&hcp.Status.Conditions, metav1.Condition{Type: hyperv1.ValidAWSIdentityProvider, Status: status, Reason: "Said", Message: "no OIDC provider"}, e.Clock.Now())
	e.Must(e.Admin().Status().Update(context.Background(), hcp))
}

func (e *managementCluster) wantEvent(reason, words string) {
	e.T.Helper()
	if !slices.ContainsFunc(e.Events.Drain(), func(event string) bool { return strings.Contains(event, reason) && strings.Contains(event, words) }) {
		e.T.Fatalf("no event %s %q", reason, words)
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
			e := newEmptyManagementCluster(t)
			e.imageOverride = tc.allowed
			hc := privateCluster()
			hc.Annotations = map[string]string{hyperv1.ControlPlaneOperatorImageAnnotation: "example.test/mine:1"}
			e.Create(testenv.PullSecret(), hc)
			e.Restart()
			e.Run(1)
			d := &appsv1.Deployment{}
			if !e.Has(d, names.ControlPlaneOperator) || d.Spec.Template.Spec.Containers[0].Image != tc.image {
				t.Errorf("got %+v, want image %s", d.Spec.Template.Spec.Containers, tc.image)
			}
			e.wantStatus(hyperv1.SupportedFields, tc.fields, tc.words)
		})
	}
}

func (e *managementCluster) wantStatus(condition string, status metav1.ConditionStatus, words string) {
	e.T.Helper()
	e.ExpectCondition(condition, status, e.Condition(condition).Reason, words)
}

// An edit is no outage. Reports of the control-plane-operator from before it do not count for Ready and Progressing.
func TestAnEditThatIsNotObservedIsNoOutage(t *testing.T) {
	e := newManagementCluster(t)
	e.Run(4)
	e.wantStatus(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
	e.change(func(hc *hyperv1.HostedCluster) {
		hc.Spec.Release.Image = "example.test/release:2"
		hc.Generation = 2 // as an API server counts
	})
	unseen := func(when string) {
		t.Helper()
		if c := e.Condition(hyperv1.InfrastructureReady); c.Status != metav1.ConditionTrue || c.ObservedGeneration == 2 {
			t.Errorf("%s: %+v", when, c)
		}
		e.wantStatus(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
		e.ExpectCondition(hyperv1.HostedClusterProgressing, metav1.ConditionTrue, hyperv1.ProgressingReason, "has not been observed yet")
		e.ExpectCondition(hyperv1.HostedClusterReady, metav1.ConditionFalse, hyperv1.ProgressingReason, "has not been observed yet")
	}
	once := func() {
		t.Helper()
		e.Must(e.Try())
	}
	once()
	unseen("while the change is handed on")
	hcp := &hyperv1.HostedControlPlane{}
	if !e.Has(hcp, "demo") {
		t.Fatal("there is no control plane")
	}
	hcp.Generation = 2
	e.Update(hcp)
	once()
	unseen("before the control-plane-operator has looked")
	for i := range hcp.Status.Conditions {
		hcp.Status.Conditions[i].ObservedGeneration = 2
	}
	e.UpdateStatus(hcp)
	once()
	if c := e.Condition(hyperv1.InfrastructureReady); c.ObservedGeneration != 2 {
		t.Errorf("afterwards: %+v", c)
	}
	e.wantStatus(hyperv1.HostedClusterAvailable, metav1.ConditionTrue, "")
}
