package sizes

import (
	"maps"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

const apiServer = "kube-apiserver.kube-apiserver"

func parsed(t *testing.T, text string) Sizes {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheNumberOfNodesDecides(t *testing.T) {
	s := parsed(t, `[{"nodes": 100, "requests": {"`+apiServer+`": "cpu=4,memory=8Gi"}}, {"nodes": 10, "requests": {"`+apiServer+`": "cpu=1"}}]`)
	for _, c := range []struct {
		current string
		nodes   *int32
		want    string
	}{
		{"", nil, ""}, {"", ptr.To[int32](0), ""}, {"", ptr.To[int32](9), ""}, {"", ptr.To[int32](10), "10"}, {"", ptr.To[int32](5000), "100"},
		{"10", ptr.To[int32](99), "10"}, {"10", ptr.To[int32](100), "100"},
		// It shrinks with a fifth less.
		{"100", ptr.To[int32](99), "100"}, {"100", ptr.To[int32](80), "100"}, {"100", ptr.To[int32](79), "10"}, {"100", ptr.To[int32](3), ""},
		{"10", ptr.To[int32](8), "10"}, {"10", ptr.To[int32](7), ""},
		// They are not counted yet, as after a restore.
		{"100", nil, "100"},
		// The installation has other sizes now.
		{"50", ptr.To[int32](12), "10"}, {"50", nil, ""},
	} {
		hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{hyperv1.ControlPlaneSizeAnnotation: c.current}}}
		hcp.Status.NodeCount = c.nodes
		annotations := map[string]string{}
		s.Annotate(annotations, hcp)
		if got := annotations[hyperv1.ControlPlaneSizeAnnotation]; got != c.want {
			t.Errorf("%q with %s nodes: %q, want %q", c.current, number(c.nodes), got, c.want)
		}
	}
}

func number(n *int32) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(int(*n))
}

func TestAnnotationsOfTheUserHavePrecedence(t *testing.T) {
	s := parsed(t, `[{"nodes": 0, "requests": {"`+apiServer+`": "cpu=1", "etcd.etcd": "memory=1Gi"}}]`)
	const prefix = hyperv1.ResourceRequestOverrideAnnotationPrefix + "/"
	annotations := map[string]string{prefix + apiServer: "cpu=3"}
	s.Annotate(annotations, nil)
	want := map[string]string{prefix + apiServer: "cpu=3", prefix + "etcd.etcd": "memory=1Gi", hyperv1.ControlPlaneSizeAnnotation: "0"}
	if !maps.Equal(annotations, want) {
		t.Errorf("got %v, want %v", annotations, want)
	}
	annotations = map[string]string{}
	Sizes(nil).Annotate(annotations, nil)
	if len(annotations) > 0 {
		t.Errorf("without sizes: %v", annotations)
	}
}

func TestSizesFitIntoTheLimitRange(t *testing.T) {
	s := parsed(t, `[{"nodes": 5, "requests": {"etcd.etcd": "cpu=90", "`+apiServer+`": "memory=9Gi"}}]`)
	for most, want := range map[string]string{"0": "", "9Gi": "", "8Gi": "the size from 5 nodes on gives kube-apiserver.kube-apiserver 9Gi of memory, and a container can have 8Gi"} {
		got := ""
		if err := s.Fit(resource.MustParse(most)); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", most, got, want)
		}
	}
}

func TestListsThatCannotBeUsed(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                                   "a list of sizes",
		`[{"nodes": 1, "size": "small"}]`:      "unknown field",
		`[{"nodes": -1}]`:                      "begins with -1 nodes",
		`[{"nodes": 3}, {"nodes": 3}]`:         "two sizes begin with 3 nodes",
		`[{"requests": {"etcd": "cpu=1"}}]`:    "names no container",
		`[{"requests": {"etcd.etcd": ""}}]`:    "has no requests",
		`[{"requests": {"etcd.etcd": "big"}}]`: "write requests such as",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
