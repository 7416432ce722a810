// Package nodeconfig makes of what users ask of their nodes what a machine starts with. It is pure: text in, text out.
//
//	ConfigMaps of a NodePool ─ Parse ─► Config ─ Marshal ─► Secret node-config-<pool>-<hash>
//	                                     │ Hash: the same wish has the same hash, in every version of the operator
//	Secret ─ Unmarshal ─► Config, Machine ─ Render ─► Ignition, the user data of one machine
//
// A Config holds what was asked for, never what we make of it: Render may change from version to version and no node is
// replaced for that. What cannot be honoured is refused by Parse, in words that say what to change; nothing is ignored.
//
// # What a machine image must have
//
// Ignition (specification 3.4), systemd with its socket-proxyd, curl, ip, containerd 2 with its CRI plugin, a kubelet anywhere in
// kubeletPath and a unit kubelet.service for it; Flatcar images of the image-builder project are of this kind.
// The rest comes from here:
//
//	/etc/kubernetes/bootstrap.kubeconfig      API server and one-time token; removed once the node has joined
//	/etc/kubernetes/pki/ca.crt                whom the node believes
//	/etc/kubernetes/pki/kubelet-clients.crt   by whom the kubelet knows the API server
//	/etc/kubernetes/kubelet.yaml              KubeletConfiguration: the user's fields under ours
//	/etc/kubernetes/identity.sh               asks AWS, before the kubelet starts, who this machine is
//	/etc/kubernetes/authorities.sh            keeps the two files in pki as the cluster says; by hypershift-authorities.timer
//	/etc/kubernetes/environment               proxy and trust of kubelet and containerd
//	/etc/containerd/certs.d/<registry>        mirrors
//	kubelet.service.d, hypershift-joined      flags of the kubelet; what is done once it has joined
//	hypershift-apiserver                      where the node's pods find the API server
//
// There is no pull secret: images are pulled with the credentials that pods name.
package nodeconfig
