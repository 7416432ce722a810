package privilege

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// event is the part of an audit event with the user, the request and the decision.
type event struct {
	Verb string
	User struct{ Username string }
	// ImpersonatedUser is whom User impersonates, if anyone.
	ImpersonatedUser struct{ Username string }
	ObjectRef        struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	// ResponseStatus has details only of a failure.
	ResponseStatus           metav1.Status
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

// Audit reads the audit log at a path, for the requests of holders by their service accounts.
func Audit(path string, holders []Holder) (*Use, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	defer file.Close()
	use, err := audit(file, holders)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log %s: %w", path, err)
	}
	return use, nil
}

func audit(log io.Reader, holders []Holder) (*Use, error) {
	use := &Use{}
	var forbidden []event
	gone := map[string]time.Time{} // when a namespace began to go
	for decoder := json.NewDecoder(log); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if e.ObjectRef.Resource == "" {
			continue // discovery, and other requests without a permission of ours
		}
		if e.Verb == "delete" && e.ObjectRef.Resource == "namespaces" && gone[e.ObjectRef.Name].IsZero() {
			gone[e.ObjectRef.Name] = e.RequestReceivedTimestamp
		}
		if name, _ := e.account(); !slices.ContainsFunc(holders, func(h Holder) bool { return h.Name == name }) {
			continue // a controller of Kubernetes itself
		}
		if e.ResponseStatus.Code == http.StatusForbidden {
			forbidden = append(forbidden, e)
			continue
		}
		name, _ := e.account()
		use.count(name, e.right())
		if e.Verb == "patch" && e.ResponseStatus.Code == http.StatusCreated {
			// Server-side apply has made the object, for which the API server has checked this too.
			use.count(name, Right{e.right().Thing, "create"})
		}
	}
	for _, e := range forbidden {
		if name, namespace := e.account(); !e.late(gone[namespace]) {
			use.refuse(Refusal{Holder: name, Right: e.right(), Message: e.ResponseStatus.Message})
		}
	}
	return use, nil
}

// account returns name and namespace of the requesting service account.
func (e event) account() (name, namespace string) {
	user, _ := strings.CutPrefix(cmp.Or(e.ImpersonatedUser.Username, e.User.Username), "system:serviceaccount:")
	namespace, name, _ = strings.Cut(user, ":")
	return name, namespace
}

func (e event) right() Right {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return Right{thing(e.ObjectRef.APIGroup, resource), e.Verb}
}

// late reports whether a refusal is no lack of a permission: a namespace that goes takes no new objects, and permissions in it may go
// before the program that has them.
func (e event) late(gone time.Time) bool {
	if d := e.ResponseStatus.Details; d != nil && slices.ContainsFunc(d.Causes, func(c metav1.StatusCause) bool { return c.Type == corev1.NamespaceTerminatingCause }) {
		return true
	}
	return !gone.IsZero() && e.StageTimestamp.After(gone)
}
