package names

// AutoNode is the Secret in the namespace of a control plane with the inputs of nodes on demand (spec.autoNode). The
// hypershift-operator writes it, and the control-plane-operator makes the default EC2NodeClass from it.
const AutoNode = "auto-node"

// Keys of the Secret AutoNode.
const (
	// AutoNodeUserData is the user data of the nodes. All of them share it, with the token in it.
	AutoNodeUserData = "user-data"
	// AutoNodeTokenID and AutoNodeTokenSecret are the token. It is valid only while a node is expected.
	AutoNodeTokenID     = "token-id"
	AutoNodeTokenSecret = "token-secret"
	// AutoNodeImage is the AMI.
	AutoNodeImage = "image"
	// AutoNodeRootDevice is the root device of the AMI, if the release names it.
	AutoNodeRootDevice = "root-device"
	// AutoNodeSubnets lists the IDs of the subnets, separated by commas.
	AutoNodeSubnets = "subnets"
	// AutoNodeInputs is a hash of the user data's inputs, except for the token.
	AutoNodeInputs = "inputs"
)

// KarpenterTaint is on the nodes of Karpenter until it has registered them. It rejects a node that starts without it.
const KarpenterTaint = "karpenter.sh/unregistered"
