package fakekms

import (
	"path/filepath"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kmsapi "k8s.io/kms/apis/v2"
)

const one, two = "arn:aws:kms:us-east-1:123456789012:key/one", "arn:aws:kms:us-east-1:123456789012:key/two"

func plugin(t *testing.T, s *Service, arn, socket string) kmsapi.KeyManagementServiceClient {
	t.Helper()
	p, err := s.Listen(arn, socket)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return kmsapi.NewKeyManagementServiceClient(conn)
}

func TestAPluginUsesItsOwnKeyUntilThatIsDisabled(t *testing.T) {
	s, err := New(one, two)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	first, second := plugin(t, s, one, filepath.Join(dir, "1")), plugin(t, s, two, filepath.Join(dir, "2"))
	sealed, err := first.Encrypt(t.Context(), &kmsapi.EncryptRequest{Plaintext: []byte("open sesame")})
	if err != nil {
		t.Fatal(err)
	}
	request := &kmsapi.DecryptRequest{Ciphertext: sealed.GetCiphertext(), KeyId: sealed.GetKeyId()}
	if got, err := first.Decrypt(t.Context(), request); err != nil || string(got.GetPlaintext()) != "open sesame" {
		t.Errorf("its own key: %q, %v", got.GetPlaintext(), err)
	}
	if _, err := second.Decrypt(t.Context(), request); err == nil {
		t.Error("another key decrypts it")
	}
	if s.Used(one) != 2 {
		t.Errorf("the key was used %d times, want 2", s.Used(one))
	}
	if got, err := first.Status(t.Context(), &kmsapi.StatusRequest{}); err != nil || got.GetHealthz() != "ok" || got.GetKeyId() != one {
		t.Errorf("the status is %v, %v", got, err)
	}
	// In this order: a deleted key cannot be disabled.
	for _, change := range []struct {
		state string
		apply func(string)
	}{{"disabled", s.Disable}, {"deleted", s.Delete}} {
		change.apply(one)
		if _, err := first.Status(t.Context(), &kmsapi.StatusRequest{}); err == nil {
			t.Errorf("the plugin of a %s key is well", change.state)
		}
		if _, err := first.Decrypt(t.Context(), request); err == nil {
			t.Errorf("a %s key decrypts", change.state)
		}
		if _, err := first.Encrypt(t.Context(), &kmsapi.EncryptRequest{}); err == nil {
			t.Errorf("a %s key encrypts", change.state)
		}
	}
}
