package v1beta1

// BootstrapTokenLabel is on the Secrets, in the namespace of a control plane, that hold the bootstrap token of a machine, in the
// form in which the hosted cluster wants it in its kube-system namespace under the name bootstrap-token-<token-id>. Its value is
// the name of the NodeBootstrap. A Secret that goes takes the token with it.
const BootstrapTokenLabel = "hypershift.openshift.io/bootstrap-token"
