package publishedimages

// gitHub is where the build files are.
const gitHub = "https://github.com/"

// The users of the bases. Images of AWS have the same user without privileges as distroless.
var (
	distrolessUsers = []User{{"root", 0, "/root"}, {"nobody", 65534, "/nonexistent"}, {"nonroot", 65532, "/home/nonroot"}}
	usualUsers      = []User{{"root", 0, "/root"}, {"nobody", 65534, "/nonexistent"}}
)

// distroless are the images of Debian without a shell. Its user is a number, which the kubelet compares with runAsNonRoot.
func distroless(name, user, workingDir string) Base {
	return Base{
		Name: name, User: user, WorkingDir: workingDir, Users: distrolessUsers,
		Env: map[string]string{"PATH": DefaultPath, "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"},
		Sources: []Source{
			{gitHub + "GoogleContainerTools/distroless/blob/8a46a50ab38872bf68d7d198726c10d337a59a4e/static/static.bzl", "8a46a50a"},
			{gitHub + "GoogleContainerTools/distroless/blob/c6b924587e161de98c63a38c7d7b1ce72814fb2a/common/BUILD.bazel", "c6b92458"},
		},
	}
}

var (
	distrolessRoot    = distroless("gcr.io/distroless/static", "0", "/")
	distrolessNonroot = distroless("gcr.io/distroless/static:nonroot", "65532", "/home/nonroot")
)

// goRunner is distroless with a program that redirects the output of another one.
var goRunner = func() Base {
	b := distrolessRoot
	b.Name = "registry.k8s.io/build-image/go-runner"
	b.Entrypoint = []string{"/go-runner"}
	b.Labels = map[string]string{"maintainers": "Kubernetes Authors", "description": "go based runner for distroless scenarios"}
	b.Programs = []Program{{Path: "/go-runner", Runner: true}}
	b.Sources = append([]Source{
		{gitHub + "kubernetes/release/blob/ee1077fd7da4e7c9a519949c07ef28fa0201bbd2/images/build/go-runner/Dockerfile", "ee1077fd"},
		{gitHub + "kubernetes/release/blob/ede345504c3b0332149681e596aa02b79c761b75/images/build/go-runner/variants.yaml", "ede34550"},
	}, b.Sources...)
	return b
}()

// firewall are the programs of the packages iptables and nftables that kube-proxy and flannel run.
var firewall = []Program{
	{Path: "/usr/sbin/nft"}, {Path: "/usr/sbin/iptables"}, {Path: "/usr/sbin/iptables-save"}, {Path: "/usr/sbin/iptables-restore"},
	{Path: "/usr/sbin/ip6tables"}, {Path: "/usr/sbin/ip6tables-save"}, {Path: "/usr/sbin/ip6tables-restore"},
}

// distrolessIptables contains the programs that kube-proxy runs. Its last stage copies the files into an empty image, so that the
// configuration of distroless is lost. iptables is a link that is replaced at its first use, by the wrapper that chooses the variant: the
// root file system of the container must be writable.
var distrolessIptables = Base{
	Name: "registry.k8s.io/build-image/distroless-iptables", WorkingDir: "/", Shell: "/bin/sh", Users: distrolessUsers,
	Programs: append([]Program{
		{Path: "/go-runner", Runner: true}, {Path: "/bin/dash"}, {Path: "/bin/cat"}, {Path: "/bin/chmod"}, {Path: "/bin/grep"}, {Path: "/bin/ln"},
		{Path: "/bin/rm"}, {Path: "/bin/sleep"}, {Path: "/usr/bin/wc"},
	}, firewall...),
	Sources: []Source{
		{gitHub + "kubernetes/release/blob/a64fccf04875f644f66e0540d3ae5a7043549830/images/build/distroless-iptables/distroless-trixie/Dockerfile", "a64fccf0"},
		{gitHub + "kubernetes/release/blob/a64fccf04875f644f66e0540d3ae5a7043549830/images/build/distroless-iptables/distroless-trixie/clean-distroless.sh", "a64fccf0"},
	},
}

// scratch is the empty image. A build with BuildKit sets the PATH and the directory.
var scratch = Base{Name: "scratch", WorkingDir: "/"}

// eksMinimal is the base of images that AWS publishes: Amazon Linux without a shell.
var eksMinimal = Base{
	Name: "public.ecr.aws/eks-distro-build-tooling/eks-distro-minimal-base", User: "0", WorkingDir: "/", Users: distrolessUsers,
	Sources: []Source{{gitHub + "aws/eks-distro-build-tooling/blob/9a8c9da00350bf96c5dd9d01fd4d40881175433c/eks-distro-base/Dockerfile.minimal-base", "9a8c9da0"}},
}

// eksMinimalEBS also contains the programs with which the EBS CSI driver formats and mounts volumes.
var eksMinimalEBS = func() Base {
	b := eksMinimal
	b.Name = "public.ecr.aws/eks-distro-build-tooling/eks-distro-minimal-base-csi-ebs"
	for _, name := range []string{
		"/usr/sbin/blkid", "/usr/sbin/blockdev", "/usr/sbin/dumpe2fs", "/usr/sbin/resize2fs", "/usr/sbin/fsck", "/usr/sbin/fsck.ext4", "/usr/sbin/fsck.ext3",
		"/usr/sbin/mkfs", "/usr/sbin/mkfs.ext4", "/usr/sbin/mkfs.ext3", "/usr/sbin/mkfs.xfs", "/usr/sbin/xfs_io", "/usr/sbin/xfs_growfs",
		"/usr/bin/umount", "/usr/bin/mount",
	} {
		b.Programs = append(b.Programs, Program{Path: name})
	}
	b.Sources = append([]Source{
		{gitHub + "aws/eks-distro-build-tooling/blob/9ddf19b7e5e35396673eb79cd9e6c39a9882c43e/eks-distro-base/Dockerfile.minimal-base-csi-ebs", "9ddf19b7"},
	}, b.Sources...)
	return b
}()

// debianSlim is the base of HAProxy's image. The build file of that image runs commands with its shell.
var debianSlim = Base{
	Name: "debian:trixie-slim", WorkingDir: "/", Shell: "/bin/sh", Users: usualUsers,
	Sources: []Source{{gitHub + "docker-library/haproxy/blob/04b2168ff76f90727c02f01cb719f655e768f6fd/3.2/Dockerfile", "04b2168f"}},
}

// alpine is the base of flannel's image. Its programs are the applets of busybox that a script of flannel's pods runs.
var alpine = Base{
	Name: "alpine:3.24", Command: []string{"/bin/sh"}, WorkingDir: "/", Shell: "/bin/sh", Users: usualUsers,
	Programs: []Program{{Path: "/bin/cat"}, {Path: "/bin/mv"}, {Path: "/bin/sleep"}},
	Sources:  []Source{{gitHub + "alpinelinux/docker-alpine/blob/00d3407329e4c65f237cc1e325a4ab0cb4974df4/x86_64/Dockerfile", "3.23.6"}},
}
