package imagecheck

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/hosted-control-planes/hypershift/hack/payload/publishedimages"
)

func published(name string) (publishedimages.Image, bool) {
	return publishedimages.Of(name, "1.36.3")
}

// pod has one container, with the security context of the restricted level and a user.
func pod(image string, change func(*corev1.PodSpec, *corev1.Container)) *corev1.PodSpec {
	p := &corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532)},
		Containers: []corev1.Container{{
			Name: "main", Image: image,
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
		}},
	}
	change(p, &p.Containers[0])
	return p
}

func TestProblemsOfPods(t *testing.T) {
	mounted := func(c *corev1.Container, path string, readOnly bool) {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "v", MountPath: path, ReadOnly: readOnly})
	}
	for name, tc := range map[string]struct {
		image  string
		change func(*corev1.PodSpec, *corev1.Container)
		want   []string
	}{
		"an image that is not in the table": {
			image: "unknown", change: func(*corev1.PodSpec, *corev1.Container) {},
			want: []string{"main: image unknown is not in the table of published images"},
		},
		"a program with a file capability that the container drops": {
			image: "kube-apiserver", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.Command = []string{"kube-apiserver"} },
			want: []string{"main: /usr/local/bin/kube-apiserver has the file capability NET_BIND_SERVICE, which the container drops: operation not permitted"},
		},
		"a program with a file capability that the container adds": {
			image: "kube-apiserver", change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Command = []string{"kube-apiserver"}
				c.SecurityContext.Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"}
			},
		},
		"a program with a file capability and the default capabilities": {
			image: "coredns", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.Capabilities = nil },
		},
		"a dropped capability by its name": {
			image: "coredns", change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.SecurityContext.Capabilities.Drop = []corev1.Capability{"NET_BIND_SERVICE"}
			},
			want: []string{"main: /coredns has the file capability NET_BIND_SERVICE, which the container drops: operation not permitted"},
		},
		"arguments without a command for a runner": {
			image: "kube-scheduler", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.Args = []string{"--config=/etc/config"} },
			want: []string{`main: image kube-scheduler has no program "--config=/etc/config"`},
		},
		"a program for a runner": {
			image: "kube-scheduler", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.Args = []string{"kube-scheduler", "-v=2"} },
		},
		"arguments without a command for an image without an entrypoint": {
			image: "cluster-autoscaler", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.Args = []string{"--v=1"} },
			want: []string{`main: image cluster-autoscaler has no program "--v=1"`},
		},
		"neither a command nor an entrypoint": {
			image: "node-programs", change: func(*corev1.PodSpec, *corev1.Container) {},
			want: []string{"main: neither the pod nor the image has a command"},
		},
		"a program at another path": {
			image: "karpenter", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.Command = []string{"/karpenter"} },
			want: []string{`main: image karpenter has no program "/karpenter"`},
		},
		"a shell that the image does not have": {
			image: "etcd", change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Command = []string{"/bin/sh", "-c", "etcd"}
			},
			want: []string{`main: image etcd has no shell for "/bin/sh"`},
		},
		"a shell in a probe and in a hook": {
			image: "konnectivity-server", change: func(_ *corev1.PodSpec, c *corev1.Container) {
				exec := corev1.ExecAction{Command: []string{"sh", "-c", "true"}}
				c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &exec}}
				c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &exec}}
			},
			want: []string{`main: image konnectivity-server has no shell for "sh"`, `main: image konnectivity-server has no shell for "sh"`},
		},
		"a shell that the image has": {
			image: "flannel", change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Command = []string{"sh", "/script"}
			},
		},
		"a program of a volume that runs a program of the image": {
			image: "etcd", change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Command, c.Args = []string{"/tools/sidecar"}, []string{"--", "etcdutil"}
				mounted(c, "/tools", true)
			},
			want: []string{`main: image etcd has no program "etcdutil"`},
		},
		"a program that is in no directory of PATH": {
			image: "konnectivity-agent", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.Command = []string{"proxy-agent"} },
			want: []string{`main: image konnectivity-agent has no program "proxy-agent"`},
		},
		"a volume that hides the program": {
			image: "kube-scheduler", change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Command = []string{"kube-scheduler"}
				mounted(c, "/usr/local/bin", true)
			},
			want: []string{"main: a volume hides /usr/local/bin/kube-scheduler of the image"},
		},
		"a user that is a name": {
			image: "haproxy", change: func(p *corev1.PodSpec, c *corev1.Container) {
				p.SecurityContext.RunAsUser, c.Command = nil, []string{"/usr/local/sbin/haproxy"}
			},
			want: []string{`main: runAsNonRoot is set, and the user "haproxy" of the image is not a number`},
		},
		"an image that runs as root": {
			image: "aws-cloud-controller-manager", change: func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.RunAsUser = nil },
			want: []string{"main: runAsNonRoot is set, and the container runs as root"},
		},
		"an image without a user": {
			image: "pod-identity-webhook", change: func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.RunAsUser = nil },
			want: []string{"main: runAsNonRoot is set, and the container runs as root"},
		},
		"an image with a number as the user": {
			image: "cluster-api", change: func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.RunAsUser = nil },
		},
		"the user of the container": {
			image: "metrics-server", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.RunAsUser = ptr.To[int64](0) },
			want: []string{"main: runAsNonRoot is set, and the container runs as root"},
		},
		"a directory that is no volume": {
			image: "etcd", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.Command = []string{"etcd"} },
			want: []string{"main: /usr/local/bin/etcd writes /var/lib/etcd, which is not a writable volume"},
		},
		"a directory that is a volume for reading": {
			image: "etcd", change: func(_ *corev1.PodSpec, c *corev1.Container) { mounted(c, "/var/lib/etcd/", true) },
			want: []string{"main: /usr/local/bin/etcd writes /var/lib/etcd, which is not a writable volume"},
		},
		"a file of a flag": {
			image: "haproxy", change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Command, c.Args = []string{"/usr/local/sbin/haproxy"}, []string{"-W", "-S", "/run/haproxy/master.sock,mode,600"}
			},
			want: []string{"main: /usr/local/sbin/haproxy writes /run/haproxy/master.sock, which is not a writable volume"},
		},
		"a socket of a flag": {
			image: "aws-ebs-csi-driver", change: func(_ *corev1.PodSpec, c *corev1.Container) {
				c.Args = []string{"--endpoint=unix:/csi/csi.sock"}
				mounted(c, "/csi", false)
			},
		},
		"a root file system that is writable": {
			image: "etcd", change: func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.ReadOnlyRootFilesystem = nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Pod(pod(tc.image, tc.change), published); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
