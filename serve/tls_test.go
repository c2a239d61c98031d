package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// certificate writes a certificate for 127.0.0.1, which is its own authority, and its key.
func certificate(t *testing.T, dir, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
	for file, content := range map[string][]byte{"cert.pem": text, "key.pem": secret} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pair, err := tls.X509KeyPair(text, secret)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pair, pool
}

// Clients need a certificate where the server asks for one, and the server's own can be replaced while it runs.
func TestTLS(t *testing.T) {
	own, clients := t.TempDir(), t.TempDir()
	_, pool := certificate(t, own, "first")
	pair, _ := certificate(t, clients, "client")
	_, port := listening(t, Listening{Certificate: filepath.Join(own, "cert.pem"), Key: filepath.Join(own, "key.pem"),
		ClientCA: filepath.Join(clients, "cert.pem")}, nil)
	get := func(pool *x509.CertPool, pairs ...tls.Certificate) error {
		transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool,
			ServerName: "localhost", Certificates: pairs}}
		defer transport.CloseIdleConnections()
		r, err := (&http.Client{Transport: transport}).Get(port.URL() + "/healthz")
		if err == nil {
			if r.Body.Close(); r.ProtoMajor != 2 {
				t.Errorf("it speaks %s", r.Proto)
			}
		}
		return err
	}
	if err := get(pool, pair); err != nil {
		t.Error(err)
	}
	if get(pool) == nil {
		t.Error("a client without a certificate is answered")
	}
	_, renewed := certificate(t, own, "second")
	if err := port.ReloadCertificates(); err != nil {
		t.Fatal(err)
	}
	if err := get(renewed, pair); err != nil {
		t.Error(err)
	}
	if get(pool, pair) == nil {
		t.Error("the old certificate is still in use")
	}
	os.Remove(filepath.Join(own, "key.pem"))
	if port.ReloadCertificates() == nil {
		t.Error("a certificate without a key was taken")
	}
	if err := get(renewed, pair); err != nil {
		t.Error("after a failed reload:", err)
	}
}
