package awsx_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/hosted-control-planes/hypershift/internal/awsx"
	"github.com/hosted-control-planes/hypershift/internal/awsx/endpointservice"
	"github.com/hosted-control-planes/hypershift/internal/awsx/identity"
	"github.com/hosted-control-planes/hypershift/internal/awsx/instancetypes"
	"github.com/hosted-control-planes/hypershift/internal/awsx/oidcdocs"
)

// timeout of an attempt in these tests.
const timeout = 200 * time.Millisecond

// A tenant is reached at an endpoint of its own: a region, or a bucket.
type tenant struct{ endpoint string }

// silent is an endpoint that takes connections and never answers.
func silent(t *testing.T) tenant {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
		}
	}()
	return tenant{"http://" + l.Addr().String()}
}

// answering is an endpoint that answers all calls of the tests.
func answering(t *testing.T) tenant {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "Action=AssumeRoleWithWebIdentity"):
			fmt.Fprint(w, `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>a</AccessKeyId>`+
				`<SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken><Expiration>2126-01-01T00:00:00Z</Expiration></Credentials>`+
				`</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`)
		case strings.Contains(string(body), "Action=GetCallerIdentity"):
			fmt.Fprint(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>1</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
		case strings.Contains(string(body), "Action=Describe"):
			fmt.Fprint(w, `<Response></Response>`)
		case r.Method == http.MethodGet: // of an object
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `<Error><Code>NoSuchKey</Code></Error>`)
		}
	}))
	t.Cleanup(server.Close)
	return tenant{server.URL}
}

func (n tenant) config(t *testing.T, who *awsx.WebIdentity) aws.Config {
	t.Helper()
	// STS is the global one unless the environment has another.
	t.Setenv("AWS_ENDPOINT_URL", n.endpoint)
	cfg, err := awsx.NewConfig(t.Context(), awsx.Options{Region: "us-east-1", Timeout: timeout, WebIdentity: who})
	if err != nil {
		t.Fatal(err)
	}
	if who == nil {
		cfg.Credentials = credentials.NewStaticCredentialsProvider("a", "b", "")
	}
	return cfg
}

var anybody = &awsx.WebIdentity{RoleARN: "arn:aws:iam::1:role/a", SessionName: "test", Token: func(context.Context) ([]byte, error) { return []byte("token"), nil }}

// services are a reconcile's calls of AWS, by the service that may be silent.
var services = map[string]func(*testing.T, tenant) func(context.Context, types.NamespacedName) error{
	"S3: the documents of a cluster are published": func(t *testing.T, n tenant) func(context.Context, types.NamespacedName) error {
		bucket := oidcdocs.New(oidcdocs.NewClient(n.config(t, nil)), "bucket")
		return func(ctx context.Context, name types.NamespacedName) error {
			_, err := bucket.Publish(ctx, oidcdocs.Site{Prefix: name.Name, Owner: name.Name, Documents: map[string][]byte{"keys": nil}})
			return err
		}
	},
	"EC2: the endpoint services are listed, by one call for all": func(t *testing.T, n tenant) func(context.Context, types.NamespacedName) error {
		all := endpointservice.New(awsx.EC2(n.config(t, nil)), clock.RealClock{}, endpointservice.Options{ListTTL: time.Hour, PrincipalsTTL: time.Hour})
		return func(ctx context.Context, name types.NamespacedName) error {
			_, err := all.Delete(ctx, endpointservice.Deletion{Owner: endpointservice.Owner{UID: name.Name, Role: "router"}})
			return err
		}
	},
	"EC2: an instance type of the tenant's region is described": func(t *testing.T, n tenant) func(context.Context, types.NamespacedName) error {
		cfg := n.config(t, nil)
		cache := instancetypes.New(func(string) instancetypes.API { return awsx.EC2(cfg) }, clock.RealClock{})
		return func(ctx context.Context, name types.NamespacedName) error {
			_, err := cache.Describe(ctx, "us-east-1", name.Name)
			return err
		}
	},
	"STS: the account is read, by one call for all": func(t *testing.T, n tenant) func(context.Context, types.NamespacedName) error {
		caller := identity.NewCaller(awsx.STS(n.config(t, nil)), "us-east-1")
		return func(ctx context.Context, _ types.NamespacedName) error {
			_, err := caller.Location(ctx)
			return err
		}
	},
	"STS: a token is exchanged for credentials": func(t *testing.T, n tenant) func(context.Context, types.NamespacedName) error {
		cache := instancetypes.New(func(string) instancetypes.API { return awsx.EC2(n.config(t, anybody)) }, clock.RealClock{})
		return func(ctx context.Context, name types.NamespacedName) error {
			_, err := cache.Describe(ctx, "us-east-1", name.Name)
			return err
		}
	},
}

// A controller has two workers. Ten objects of a tenant with a silent endpoint
// come first, and return to the queue as often as they fail.
func TestASilentEndpointDelaysNoOtherTenant(t *testing.T) {
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			ofSilent, ofOther := service(t, silent(t)), service(t, answering(t))
			failed, done := make(chan error, 1000), make(chan error, 1)
			reconciler := reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				if req.Name == "other" {
					done <- ofOther(ctx, req.NamespacedName)
					return reconcile.Result{}, nil
				}
				err := ofSilent(ctx, req.NamespacedName)
				failed <- err
				return reconcile.Result{}, err
			})
			run(t, reconciler)
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("the other tenant's reconcile failed: %v", err)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the other tenant waits")
			}
			if err := <-failed; !awsx.IsTransient(err) || !strings.Contains(awsx.Message(err), "no answer from") {
				t.Errorf("the silent tenant's reconcile ends with %s: %v", awsx.Message(err), err)
			}
		})
	}
}

func run(t *testing.T, reconciler reconcile.Reconciler) {
	t.Helper()
	c, err := controller.NewUnmanaged("test", controller.Options{
		// A priority queue can hang when it is shut down, up to controller-runtime v0.24:
		// https://github.com/kubernetes-sigs/controller-runtime/issues/3538
		UsePriorityQueue: ptr.To(false),
		Reconciler:       reconciler, MaxConcurrentReconciles: 2, SkipNameValidation: ptr.To(true), LogConstructor: func(*reconcile.Request) logr.Logger { return logr.Discard() },
	})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Watch(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		for i := range 10 {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: fmt.Sprintf("silent-%d", i)}})
		}
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: "other"}})
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A reconcile that shares the call of another one is not bound to its length.
func TestACallerWaitsNoLongerThanItsOwnContext(t *testing.T) {
	for name, service := range services {
		t.Run(name, func(t *testing.T) {
			call := service(t, silent(t))
			go func() { _ = call(t.Context(), types.NamespacedName{Name: "a"}) }()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			started := time.Now()
			if err := call(ctx, types.NamespacedName{Name: "a"}); err == nil {
				t.Error("a silent endpoint answered")
			}
			if took := time.Since(started); took > timeout {
				t.Errorf("it waited %s", took)
			}
		})
	}
}
