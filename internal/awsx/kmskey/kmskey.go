// Package kmskey finds out whether a key of AWS KMS can be used.
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

// probe is what is encrypted. It is no secret, and says in CloudTrail who asked.
const probe = "hypershift"

// Check encrypts with the key, and opens what came out again: a role may well be
// allowed the one and not the other, and then Secrets would be written that
// nobody can read.
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
