package v1beta1

// Labels of objects that are created for a NodePool.
const (
	// NodePoolLabel is the name of the NodePool on its machines, and on all other objects that are created for it in
	// the namespace of the control plane.
	NodePoolLabel = "hypershift.openshift.io/nodePool"
)
