// Package fakekms is a fake of AWS KMS and of the plugin with which an API server uses one of its keys, in version 2 of
// the KMS protocol of Kubernetes.
//
// A plugin only uses its own key: values of another key, a disabled key and a deleted key are errors, as in AWS. Unlike
// AWS, a change of a key takes effect immediately, no role is checked, and no call is throttled.
package fakekms

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	kmsapi "k8s.io/kms/apis/v2"
)

// Service holds the keys of an account, by their ARN.
type Service struct {
	mu   sync.Mutex
	keys map[string]*key
}

type key struct {
	cipher   cipher.AEAD
	disabled bool
	used     int
}

// New returns a Service with these keys, which are enabled.
func New(arns ...string) (*Service, error) {
	s := &Service{keys: map[string]*key{}}
	for _, arn := range arns {
		bytes := make([]byte, 32)
		rand.Read(bytes)
		block, err := aes.NewCipher(bytes)
		if err != nil {
			return nil, fmt.Errorf("making key %s: %w", arn, err)
		}
		gcm, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("making key %s: %w", arn, err)
		}
		s.keys[arn] = &key{cipher: gcm}
	}
	return s, nil
}

// Disable makes every use of a key fail.
func (s *Service) Disable(arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[arn].disabled = true
}

// Delete deletes a key. Values that it has encrypted are lost.
func (s *Service) Delete(arn string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, arn)
}

// Used is how often a key was used for encryption or decryption.
func (s *Service) Used(arn string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.keys[arn]; k != nil {
		return k.used
	}
	return 0
}

// use returns the cipher of a key, or the error of AWS.
func (s *Service) use(arn string, count int) (cipher.AEAD, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[arn]
	switch {
	case k == nil:
		return nil, status.Errorf(codes.Internal, "NotFoundException: key %s does not exist", arn)
	case k.disabled:
		return nil, status.Errorf(codes.Internal, "DisabledException: %s is disabled", arn)
	}
	k.used += count
	return k.cipher, nil
}

// A Plugin lets API servers use one key, until it is stopped.
type Plugin struct {
	kmsapi.UnimplementedKeyManagementServiceServer
	service *Service
	arn     string
	server  *grpc.Server
	served  chan error
}

// Listen starts the plugin of a key at a unix socket. It also starts with a key that cannot be used.
func (s *Service) Listen(arn, socket string) (*Plugin, error) {
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("starting the plugin of %s: %w", arn, err)
	}
	p := &Plugin{service: s, arn: arn, server: grpc.NewServer(), served: make(chan error, 1)}
	kmsapi.RegisterKeyManagementServiceServer(p.server, p)
	go func() { p.served <- p.server.Serve(listener) }()
	return p, nil
}

// Stop closes the socket and all connections.
func (p *Plugin) Stop() error {
	p.server.Stop()
	return <-p.served
}

// Status implements kmsapi.KeyManagementServiceServer.
func (p *Plugin) Status(context.Context, *kmsapi.StatusRequest) (*kmsapi.StatusResponse, error) {
	if _, err := p.service.use(p.arn, 0); err != nil {
		return nil, err
	}
	return &kmsapi.StatusResponse{Version: "v2", Healthz: "ok", KeyId: p.arn}, nil
}

// Encrypt implements kmsapi.KeyManagementServiceServer.
func (p *Plugin) Encrypt(_ context.Context, req *kmsapi.EncryptRequest) (*kmsapi.EncryptResponse, error) {
	c, err := p.service.use(p.arn, 1)
	if err != nil {
		return nil, err
	}
	return &kmsapi.EncryptResponse{Ciphertext: c.Seal(nil, nil, req.GetPlaintext(), []byte(p.arn)), KeyId: p.arn}, nil
}

// Decrypt implements kmsapi.KeyManagementServiceServer.
func (p *Plugin) Decrypt(_ context.Context, req *kmsapi.DecryptRequest) (*kmsapi.DecryptResponse, error) {
	c, err := p.service.use(p.arn, 1)
	if err != nil {
		return nil, err
	}
	plain, err := c.Open(nil, nil, req.GetCiphertext(), []byte(p.arn))
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "InvalidCiphertextException: it was not encrypted with %s", p.arn)
	}
	return &kmsapi.DecryptResponse{Plaintext: plain}, nil
}
