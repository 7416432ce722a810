package dedup

import (
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// role is one of many with the same rules, as decoding leaves it.
func role(namespace string) *rbacv1.Role {
	fresh := func(s string) string { return string([]byte(s)) }
	return &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fresh("cluster-api"), CreationTimestamp: metav1.Unix(1, 0),
			Labels: map[string]string{fresh("app"): fresh("cluster-api")},
		},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{fresh("secrets")}, Verbs: []string{fresh("get"), fresh("list")}}},
	}
}

// kept is role after s has seen it.
func kept[T any](t *testing.T, s *Shared, obj T) T {
	t.Helper()
	out, err := s.Transform(obj)
	if err != nil {
		t.Fatal(err)
	}
	return out.(T)
}

func TestEqualPartsAreStoredOnce(t *testing.T) {
	s := NewShared()
	a, b := kept(t, s, role("a")), kept(t, s, role("b"))
	if unsafe.StringData(a.Name) != unsafe.StringData(b.Name) {
		t.Error("two copies of a name")
	}
	if &a.Rules[0] != &b.Rules[0] {
		t.Error("two copies of the rules")
	}
	a.Labels["both"] = "see it" // which is why nobody may
	if b.Labels["both"] == "" {
		t.Error("two copies of the labels")
	}
}

func TestSharingDoesNotChangeObjects(t *testing.T) {
	pod := func(cpu string, seconds int64) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{"cpu": cpu, "": ""}, DeletionTimestamp: ptr.To(metav1.Unix(seconds, 0))},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: &seconds,
				Containers: []corev1.Container{{
					Name: "c", Args: []string{}, SecurityContext: &corev1.SecurityContext{RunAsNonRoot: ptr.To(seconds > 1)},
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
				}},
			},
		}
	}
	s := NewShared()
	for range 2 {
		for _, cpu := range []string{"1", "1500m", "100"} {
			for seconds := range int64(4) {
				if got, want := kept(t, s, pod(cpu, seconds)), pod(cpu, seconds); !equality.Semantic.DeepEqual(got, want) {
					t.Fatalf("got %v, want %v", got, want)
				}
			}
		}
	}
}

func TestSecretsAreNotShared(t *testing.T) {
	s := NewShared()
	secret := func() *corev1.Secret { return &corev1.Secret{Data: map[string][]byte{"key": []byte("value")}} }
	a, b := kept(t, s, secret()), kept(t, s, secret())
	if &a.Data["key"][0] == &b.Data["key"][0] {
		t.Error("the table has the data of a Secret")
	}
}

func TestAFullTableForgetsValues(t *testing.T) {
	s := NewShared()
	for i := range 4 * size {
		name := string(rune('a'+i%26)) + string(rune(i))
		if got := kept(t, s, role(name)); got.Namespace != name || got.Name != "cluster-api" || len(got.Rules[0].Verbs) != 2 {
			t.Fatalf("got %v", got)
		}
	}
}

// BenchmarkTransform measures the cost of an incoming object.
func BenchmarkTransform(b *testing.B) {
	s := NewShared()
	for b.Loop() {
		if _, err := s.Transform(role("a")); err != nil {
			b.Fatal(err)
		}
	}
}
