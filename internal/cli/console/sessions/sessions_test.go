package sessions_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/internal/cli/clustertree"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/sessions"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/watch"
	"github.com/hosted-control-planes/hypershift/internal/cli/console/web"
	"github.com/hosted-control-planes/hypershift/test/fixture"
)

// browser is a client with cookies.
type browser struct {
	*http.Client
	base string
}

func (b browser) get(t *testing.T, path string, header ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) == 2 {
		request.Header.Set(header[0], header[1])
	}
	return b.do(t, request)
}

func (b browser) post(t *testing.T, path string, form url.Values, header ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if len(header) == 2 {
		request.Header.Set(header[0], header[1])
	}
	return b.do(t, request)
}

func (b browser) do(t *testing.T, request *http.Request) (int, string) {
	t.Helper()
	response, err := b.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// TestManyWrongTokensAreNotAsMuchLoad sends requests with different tokens to a management cluster that does not respond.
func TestManyWrongTokensAreNotAsMuchLoad(t *testing.T) {
	var asked atomic.Int32
	responds := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		<-responds
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer slow.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	users := sessions.New(ctx, sessions.Options{Config: &rest.Config{Host: slow.URL}, Clock: clock.RealClock{}})
	var waiting sync.WaitGroup
	var refused atomic.Int32
	for i := range 100 {
		waiting.Go(func() {
			request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
			request.Header.Set("Authorization", fmt.Sprintf("Bearer wrong-%d", i))
			w := httptest.NewRecorder()
			users.ServeHTTP(w, request)
			if w.Code == http.StatusUnauthorized && strings.Contains(w.Body.String(), "try again") {
				refused.Add(1)
			}
		})
	}
	for started := time.Now(); refused.Load() < 92 && time.Since(started) < 20*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	if asked.Load() > 8 || refused.Load() != 92 {
		t.Errorf("%d requests to the management cluster, %d refused", asked.Load(), refused.Load())
	}
	close(responds)
	waiting.Wait()
}

func TestEachUserSeesWhatTheUserMay(t *testing.T) {
	config := fixture.StartAPIServer(t, "../../../../config/crd", "../../../../config/crd/external")
	admin, err := client.New(config, client.Options{Scheme: clustertree.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	create := func(objects ...client.Object) {
		t.Helper()
		for _, o := range objects {
			if err := admin.Create(t.Context(), o); err != nil {
				t.Fatalf("%T %s: %v", o, o.GetName(), err)
			}
		}
	}
	in := func(ns, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	read := []rbacv1.PolicyRule{{APIGroups: []string{hyperv1.GroupVersion.Group}, Resources: []string{"hostedclusters", "nodepools"}, Verbs: []string{"get", "list", "watch"}}}
	create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: read})
	for _, ns := range []string{"team-a", "team-b"} {
		create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, &corev1.ServiceAccount{ObjectMeta: in(ns, "user")},
			&rbacv1.RoleBinding{ObjectMeta: in(ns, "user"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: "user"}}})
		create(fixture.Sample(t, "hostedcluster-none.yaml", ns, "of-"+ns))
	}
	tokenOf := func(ns string) string {
		t.Helper()
		request := &authenticationv1.TokenRequest{}
		if err := admin.SubResource("token").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: in(ns, "user")}, request); err != nil {
			t.Fatal(err)
		}
		return request.Status.Token
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	anonymous := rest.AnonymousClientConfig(config)
	server := httptest.NewTLSServer(web.Protect(sessions.New(ctx, sessions.Options{Config: anonymous, Clock: clock.RealClock{}, Pages: func(ctx context.Context, store *watch.Store, config *rest.Config) (http.Handler, error) {
		model, err := web.NewModel(ctx, store)
		if err != nil {
			return nil, err
		}
		pages := web.NewServer(web.Options{Clock: clock.RealClock{}, Title: "management", Logout: true}, model)
		return pages.Handler(), nil
	}})))
	defer server.Close()
	open := func() browser {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return browser{&http.Client{Transport: server.Client().Transport, Jar: jar, Timeout: 40 * time.Second}, server.URL}
	}

	t.Run("without a token there is only the form", func(t *testing.T) {
		b := open()
		for _, path := range []string{"/", "/clusters/team-a/of-team-a", "/live?page=/"} {
			if status, text := b.get(t, path); status != http.StatusUnauthorized || !strings.Contains(text, `name="token"`) || strings.Contains(text, "of-team-a") {
				t.Errorf("%s: %d %s", path, status, text)
			}
		}
		for _, token := range []string{"not a token", "a.b.c", ""} {
			b.post(t, "/login", url.Values{"token": {token}})
			if status, text := b.get(t, "/"); status != http.StatusUnauthorized || strings.Contains(text, "of-team-a") {
				t.Errorf("token %q: %d %s", token, status, text)
			}
		}
		if status, _ := b.get(t, "/", "Authorization", "Bearer nonsense"); status != http.StatusUnauthorized {
			t.Errorf("status %d", status)
		}
	})
	t.Run("a user of one namespace", func(t *testing.T) {
		a := open()
		if status, text := a.post(t, "/login", url.Values{"token": {tokenOf("team-a")}}); status != http.StatusUnauthorized || !strings.Contains(text, "name a namespace") {
			t.Errorf("all namespaces: %d %s", status, text)
		}
		if status, text := a.post(t, "/login", url.Values{"token": {tokenOf("team-a")}, "namespace": {"team-a"}}); status != http.StatusOK || !strings.Contains(text, "of-team-a") || strings.Contains(text, "of-team-b") {
			t.Errorf("%d %s", status, text)
		}
		if status, text := a.get(t, "/clusters/team-b/of-team-b"); status != http.StatusNotFound {
			t.Errorf("another namespace: %d %s", status, text)
		}
		b := open()
		if status, text := b.post(t, "/login", url.Values{"token": {tokenOf("team-b")}, "namespace": {"team-a"}}); status != http.StatusUnauthorized || strings.Contains(text, "of-team-a") {
			t.Errorf("a user of team-b asks for team-a: %d %s", status, text)
		}
		if status, _ := a.post(t, "/logout", nil, "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
			t.Errorf("another site logs out: %d", status)
		}
		if status, _ := a.post(t, "/logout", nil); status != http.StatusOK {
			t.Errorf("logout: %d", status)
		}
		if status, _ := a.get(t, "/"); status != http.StatusUnauthorized {
			t.Errorf("after the logout: %d", status)
		}
	})
	t.Run("a proxy adds the token", func(t *testing.T) {
		create(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "all"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reader"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "team-b", Name: "user"}}})
		token := tokenOf("team-b")
		status, text := open().get(t, "/", "Authorization", "Bearer "+token)
		if status != http.StatusOK || !strings.Contains(text, "of-team-a") || !strings.Contains(text, "of-team-b") {
			t.Errorf("%d %s", status, text)
		}
		// The token ends with its account: the pages end, too.
		if err := admin.Delete(t.Context(), &corev1.ServiceAccount{ObjectMeta: in("team-b", "user")}); err != nil {
			t.Fatal(err)
		}
		for started := time.Now(); ; time.Sleep(500 * time.Millisecond) {
			status, _ := open().get(t, "/", "Authorization", "Bearer "+token)
			if status == http.StatusUnauthorized {
				break
			}
			if time.Since(started) > 40*time.Second {
				t.Fatalf("a revoked token still has pages: %d", status)
			}
		}
	})
	t.Run("tokens are in no page", func(t *testing.T) {
		token := tokenOf("team-a")
		b := open()
		_, text := b.post(t, "/login", url.Values{"token": {token}, "namespace": {"team-a"}})
		if strings.Contains(text, token) {
			t.Error("a page has the token")
		}
		if _, text = b.get(t, fmt.Sprintf("/?q=%s", "x")); strings.Contains(text, token) {
			t.Error("a page has the token")
		}
	})
}
