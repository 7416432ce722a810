package main

import (
	"context"
)

// signer holds the flags with which cosign signs.
type signer []string

// withKey signs with a key, without a transparency log: the signature is verified with the public key alone, also without a connection to
// Sigstore's services.
func withKey(key string) signer {
	return signer{"--key=" + key, "--use-signing-config=false", "--tlog-upload=false"}
}

// keylessSigner signs with a short-lived certificate for the OIDC identity of the workflow.
var keylessSigner = signer{}

// sign signs an artifact, and the images of an index.
func (r *release) sign(ctx context.Context, a artifact) error {
	for _, signer := range r.signers {
		args := append([]string{"sign", "--yes", "--recursive"}, signer...)
		if _, err := r.output(ctx, r.tools["cosign"], append(args, r.exact(a))...); err != nil {
			return err
		}
	}
	return nil
}

// signFile writes a signature of a file next to it.
func (r *release) signFile(ctx context.Context, file string) error {
	for i, signer := range r.signers {
		bundle := file + ".sigstore.json"
		if i > 0 {
			bundle = file + ".keyless.sigstore.json"
		}
		args := append([]string{"sign-blob", "--yes", "--bundle=" + bundle}, signer...)
		if _, err := r.output(ctx, r.tools["cosign"], append(args, file)...); err != nil {
			return err
		}
	}
	return nil
}
