// Package signingkeys plans rotations of the key that signs the service account tokens of a hosted cluster. Programs sign with
// its private key: the API servers, kube-controller-manager, the token minters and both operators. The API servers accept the
// tokens, and so does AWS, which reads the published public keys.
//
//	          Publish               Switch                Retain               Retire
//	signs     old                   old, then NEW         NEW                  NEW
//	accepted  old, NEW              NEW, old              NEW, old             NEW, then without old
//	ends when all API servers and   all programs that     all tokens of the    no API server accepts
//	          the documents have    cache nothing sign    old key have         the old key
//	          both, AWS accepts     with the new key      expired
//	          NEW, and caches of
//	          keys have expired
//
// The state is a part of Secret sa-signing-key, with the keys. One write changes a key and its stage: a stage is never lost, also when the
// objects move to another management cluster. The keys are known by their ID, the kid of their tokens.
//
// The hypershift-operator writes the Secret, one step at a time (Next), and the documents. The control-plane-operator verifies that the
// programs have loaded it, and reports the Revision of the Secret that they have. A fact about another revision does not count.
//
// All functions are pure.
package signingkeys
