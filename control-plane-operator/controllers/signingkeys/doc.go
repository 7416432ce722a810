// Package signingkeys verifies, during a rotation of the key of service account tokens, what the programs of the control plane use.
// The hypershift-operator writes Secret sa-signing-key one step at a time (package internal/signingkeys), and reads this report before the next step.
//
//	keys                  read the Secret; without a rotation there is nothing to verify
//	API servers           each pod accepts exactly the keys of the Secret, and signs with its key; kube-controller-manager runs with it
//	AWS                   AWS accepts a token of the next key
//	tokens of old keys    when an old key could be retired: Secrets and pods of the hosted cluster that may have its tokens
//
// The steps do not trust the mounted file: API servers read it only when they start. Each pod serves the public keys that it accepts, and
// signs a token on request. That token is for an audience that does not exist, and is discarded.
package signingkeys
