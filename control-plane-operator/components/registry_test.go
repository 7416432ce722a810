package components_test

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podsecurity "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/components"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target"
	"github.com/hosted-control-planes/hypershift/control-plane-operator/target/targettest"
	"github.com/hosted-control-planes/hypershift/internal/component"
	"github.com/hosted-control-planes/hypershift/internal/names"
	"github.com/hosted-control-planes/hypershift/internal/release"
)

// templates are the pods of all components in a highly available cluster.
func templates(t *testing.T) map[string]corev1.PodTemplateSpec {
	t.Helper()
	env := targettest.Env()
	env.HCP.Spec.ControllerAvailabilityPolicy = hyperv1.HighlyAvailable
	env.HCP.Annotations = maps.Clone(env.HCP.Annotations)
	if env.HCP.Annotations == nil {
		env.HCP.Annotations = map[string]string{}
	}
	env.HCP.Annotations[hyperv1.MemoryLimitFactorAnnotation] = "64"
	out := map[string]corev1.PodTemplateSpec{}
	for _, c := range component.RenderAll(env, components.ControlPlane...) {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		for _, obj := range c.Objects {
			if template := templateOf(obj); template != nil {
				out[c.Name] = *template
			}
		}
	}
	return out
}

func templateOf(obj client.Object) *corev1.PodTemplateSpec {
	switch w := obj.(type) {
	case *appsv1.Deployment:
		return &w.Spec.Template
	case *appsv1.StatefulSet:
		return &w.Spec.Template
	}
	return nil
}

// The LimitRange of the namespace would refuse a larger limit than its maximum.
func TestMemoryLimitsAreAtMostThoseOfTheLimitRange(t *testing.T) {
	env := targettest.Env()
	env.HCP.Annotations = map[string]string{
		hyperv1.MemoryLimitFactorAnnotation: "64", hyperv1.MemoryLimitMaxAnnotation: "64Gi",
		hyperv1.ResourceRequestOverrideAnnotationPrefix + "/kube-apiserver.kube-apiserver": "memory=3Gi",
	}
	most := resource.MustParse("64Gi")
	checked := 0
	for _, c := range component.RenderAll(env, components.ControlPlane...) {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		for _, obj := range c.Objects {
			template := templateOf(obj)
			if template == nil {
				continue
			}
			for _, container := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
				limit := container.Resources.Limits.Memory()
				checked++
				if limit.IsZero() || limit.Cmp(most) > 0 {
					t.Errorf("%s of %s is limited to %s", container.Name, c.Name, limit.String())
				}
				if container.Name == names.KubeAPIServer && limit.Cmp(most) != 0 {
					t.Errorf("the API server is limited to %s, want the largest limit", limit.String())
				}
			}
		}
	}
	if checked == 0 {
		t.Error("there are no containers")
	}
}

func TestPodsMeetThePodSecurityStandard(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	for name, template := range templates(t) {
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &metav1.ObjectMeta{Labels: template.Labels}, &template.Spec))
		if !result.Allowed {
			t.Errorf("%s: %s", name, result.ForbiddenDetail())
		}
	}
}

func TestEveryContainerHasRequests(t *testing.T) {
	for name, template := range templates(t) {
		for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
			if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() {
				t.Errorf("container %s of %s does not", c.Name, name)
			}
		}
		for _, c := range template.Spec.Containers {
			if c.LivenessProbe == nil {
				t.Errorf("container %s of %s is left alone when it hangs", c.Name, name)
			}
		}
	}
}

func TestDependenciesAreComponents(t *testing.T) {
	for _, c := range components.ControlPlane {
		for _, before := range c.After {
			if !slices.ContainsFunc(components.ControlPlane, func(c component.Component[*target.ControlPlane]) bool { return c.Name == before }) {
				t.Errorf("%s comes after %s, which is nothing", c.Name, before)
			}
		}
	}
}

// The adapter of a misspelt file would never run.
func TestEveryAdapterHasItsAsset(t *testing.T) {
	checkAdapters(t, components.ControlPlane)
	checkAdapters(t, components.HostedCluster)
}

func checkAdapters[T component.Target](t *testing.T, all []component.Component[T]) {
	t.Helper()
	for _, c := range all {
		var files []string
		err := fs.WalkDir(c.Assets, ".", func(path string, d fs.DirEntry, err error) error {
			files = append(files, path[strings.LastIndex(path, "/")+1:])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range c.Adapters {
			if !slices.Contains(files, a.File()) {
				t.Errorf("%s has no %s", c.Name, a.File())
			}
		}
	}
}

// Without the image of a component, a release has no such component. Otherwise the component would be reported as missing.
func TestComponentsOfHostedClustersDependOnTheirImages(t *testing.T) {
	env := targettest.HostedCluster()
	for _, c := range components.HostedCluster {
		if c.Wanted == nil {
			t.Fatalf("%s is wanted without its image", c.Name)
		}
		if !c.Wanted(env) {
			t.Errorf("a release with all images has no %s", c.Name)
		}
		objs, err := component.Render(c, env)
		if err != nil {
			t.Fatal(err)
		}
		without := *env
		without.Release = &release.Release{Components: maps.Clone(env.Release.Components)}
		for name, image := range env.Release.Components {
			if slices.ContainsFunc(component.AsWorkload(objs[len(objs)-1]).Pod().Containers, func(c corev1.Container) bool { return c.Image == image }) {
				delete(without.Release.Components, name)
			}
		}
		if c.Wanted(&without) {
			t.Errorf("%s is wanted without its image", c.Name)
		}
	}
}

// The limits of a tenant's pods leave room for the pods of other tenants.
func TestEveryVolumeHasALimit(t *testing.T) {
	for name, template := range templates(t) {
		for _, v := range template.Spec.Volumes {
			if v.EmptyDir != nil && v.EmptyDir.SizeLimit.IsZero() {
				t.Errorf("%s: emptyDir %s has no sizeLimit", name, v.Name)
			}
		}
		for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
			request, limit := c.Resources.Requests.Memory(), c.Resources.Limits.Memory()
			if limit.Value() < 1<<30 || limit.Value() < 64*request.Value() {
				t.Errorf("%s: container %s requests %s and is limited to %s", name, c.Name, request, limit)
			}
		}
	}
}
