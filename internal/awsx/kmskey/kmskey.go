// Package kmskey checks whether a key of AWS KMS can be used.
package kmskey

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
)

// API is the part of KMS that this package calls.
type API interface {
	Encrypt(context.Context, *kms.EncryptInput, ...func(*kms.Options)) (*kms.EncryptOutput, error)
	Decrypt(context.Context, *kms.DecryptInput, ...func(*kms.Options)) (*kms.DecryptOutput, error)
}

// NewClient returns a client for keys.
func NewClient(cfg aws.Config) *kms.Client { return kms.NewFromConfig(cfg) }

// probe is the text that is encrypted. It is not secret.
const probe = "hypershift"

// Check encrypts and decrypts with the key. A role that may encrypt and not decrypt
// would let the API server write Secrets that it cannot read.
func Check(ctx context.Context, api API, arn string) error {
	sealed, err := api.Encrypt(ctx, &kms.EncryptInput{KeyId: aws.String(arn), Plaintext: []byte(probe)})
	if err != nil {
		return fmt.Errorf("encrypting with key %s: %w", arn, err)
	}
	if _, err := api.Decrypt(ctx, &kms.DecryptInput{KeyId: aws.String(arn), CiphertextBlob: sealed.CiphertextBlob}); err != nil {
		return fmt.Errorf("decrypting with key %s: %w", arn, err)
	}
	return nil
}
