// Package nodeconfig makes the user data of machines from the configuration of users. It does no input or output.
//
//	ConfigMaps of a NodePool ─ Parse ─► Config ─┐
//	settings of a HostedCluster ────────────────┴► Inputs ─ Encode ─► Secret node-config-<pool>-<hash>
//	                                                │ Hash: the same for the same inputs, in every version of the operator
//	Secret ─ Decode ─► Inputs, Machine ─ Render ─► model (render.go) ─► Ignition (ignition.go) or cloud-config (cloudconfig.go):
//	                                                                   the user data of one machine
//
// Inputs are the specifications of users, and not the rendered result: Render may change in a new version, and no node is replaced
// for that. Parse refuses unsupported settings, and its message names the alternative; it never ignores a setting.
//
// # Requirements for machine images
//
// docs/node-images.md lists them. User data adds:
//
//	/etc/kubernetes/bootstrap.kubeconfig      address that the node forwards, and bootstrap token; removed once the node has joined
//	/etc/kubernetes/pki/ca.crt                CA of the API server
//	/etc/kubernetes/pki/kubelet-clients.crt   CA of the clients of the kubelet
//	/etc/kubernetes/kubelet.yaml              KubeletConfiguration: fields of the user, overridden by ours
//	/etc/kubernetes/identity.sh               reads name and provider ID from AWS before the kubelet starts
//	/etc/kubernetes/credential-providers.yaml registries of ECR, for machines that have ecr-credential-provider
//	/etc/kubernetes/apiserver                 address of the API server, for the units below
//	/etc/kubernetes/authorities.sh            updates the two files in pki, the address of the API server and the pull secret;
//	                                          run by hypershift-authorities.timer
//	/etc/kubernetes/joining.sh                reports on the console why the node does not join; run by hypershift-joining
//	/etc/kubernetes/resolver.sh               routes hypershift.local to the DNS servers if systemd-resolved runs; run by hypershift-resolver
//	/etc/kubernetes/environment               proxy and trust bundle of kubelet and containerd
//	/etc/containerd/certs.d/<registry>        mirrors
//	kubelet.service.d, hypershift-joined      flags of the kubelet; commands after it has joined
//	hypershift-apiserver                      forwards the kubelet and the node's pods to the API server
//
// and, if the release contains the programs of a node (programs.go):
//
//	/etc/kubernetes/programs                  version, layers and repositories, for programs.sh
//	/etc/kubernetes/programs.sh               installs the programs before containerd starts; run by hypershift-programs
//	/etc/kubernetes/containerd.toml           configuration of the release's containerd
//	/etc/kubernetes/units                     units of the release's containerd and kubelet, which programs.sh installs
//
// There is no pull secret in user data: a node reads it from the cluster when it has joined.
package nodeconfig
