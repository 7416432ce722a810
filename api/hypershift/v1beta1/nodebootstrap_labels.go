package v1beta1

// BootstrapTokenLabel is on the Secrets with the bootstrap tokens of machines, in the namespace of a control plane.
// The control plane copies each of them into the kube-system namespace of the hosted cluster, as
// bootstrap-token-<token-id>, and their format is the one of the hosted cluster. The value is the name of the
// NodeBootstrap. When the Secret is deleted, the token is deleted too.
const BootstrapTokenLabel = "hypershift.openshift.io/bootstrap-token"
