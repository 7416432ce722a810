package nodeconfig

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	hyperv1 "github.com/hosted-control-planes/hypershift/api/hypershift/v1beta1"
)

// The programs of a release are the layers of an image, with programs in usr/local/bin and network plugins in opt/cni/bin. A unit
// fetches, verifies and unpacks them, once, and then starts containerd and the kubelet, with units of its own. An image with the
// same version of the kubelet, a containerd 2 and runc uses its own.

// Files and units of the programs.
const (
	programsUnit         = "hypershift-programs.service"
	programsFile         = "/etc/kubernetes/programs"
	programsScriptFile   = "/etc/kubernetes/programs.sh"
	programsUnitsFiles   = "/etc/kubernetes/units/"
	containerdConfigFile = "/etc/kubernetes/containerd.toml"
	// installed is a link to the installed version.
	installed = "/opt/hypershift/bin"
)

// programsScript prints one line to the console when it cannot install the programs, and another one for another cause:
//
//	hypershift-node: reason=<reason> message=<text>
//
// The reasons are DiskFull, RegistryUnreachable, RegistryUnauthorized, NotFound, WrongDigest, UnpackFailed and ProgramsUnavailable.
//
//go:embed scripts/programs.sh
var programsScript string

const programsService = `[Unit]
Wants=network-online.target
After=network-online.target
[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=infinity
Environment=PATH=` + kubeletPath + `
EnvironmentFile=-` + environmentFile + `
ExecStart=/bin/sh ` + programsScriptFile + `
[Install]
WantedBy=multi-user.target
`

// programsDropin makes containerd and the kubelet wait for the programs.
const programsDropin = `[Unit]
Requires=` + programsUnit + `
After=` + programsUnit + `
`

// containerdService and kubeletService are the units of machines with an image that does not contain the release's programs. The drop-ins
// complete them, as they complete the units of an image.
const containerdService = `[Unit]
Description=containerd
After=network.target
[Service]
Type=notify
Environment=PATH=` + kubeletPath + `
ExecStartPre=-/usr/bin/env modprobe -a overlay br_netfilter
ExecStartPre=-/usr/bin/env sysctl -qw net.ipv4.ip_forward=1 net.bridge.bridge-nf-call-iptables=1
ExecStart=` + installed + `/containerd --config=` + containerdConfigFile + `
Restart=always
RestartSec=5
# Containers outlive a restart of containerd, and systemd leaves their cgroups alone.
Delegate=yes
KillMode=process
TasksMax=infinity
LimitNOFILE=1048576
OOMScoreAdjust=-999
[Install]
WantedBy=multi-user.target
`

const kubeletService = `[Unit]
Description=kubelet
[Service]
ExecStart=` + installed + `/kubelet
[Install]
WantedBy=multi-user.target
`

// containerdConfig returns the configuration of containerd. Images and users add to it in /etc/containerd/conf.d.
func containerdConfig(p *hyperv1.NodePrograms) string {
	sandbox := ""
	if p.SandboxImage != "" {
		sandbox = "[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = " + strconv.Quote(p.SandboxImage) + "\n"
	}
	return `version = 3
imports = ["/etc/containerd/conf.d/*.toml"]
` + sandbox + `[plugins.'io.containerd.cri.v1.images'.registry]
config_path = "` + registriesDirectory + `"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = true
`
}

// programsEnvironment is the content of programsFile, which the script reads. The API accepts no character that a shell would
// interpret.
func programsEnvironment(version string, p *hyperv1.NodePrograms) string {
	var layers []string
	for _, l := range p.Layers {
		layers = append(layers, fmt.Sprintf("%s=%d", l.Digest, l.Size))
	}
	return fmt.Sprintf("KUBERNETES='%s'\nIMAGE='%s'\nLAYERS='%s'\nSOURCES='%s'\n", version, p.Digest, strings.Join(layers, " "), strings.Join(p.Repositories, " "))
}
