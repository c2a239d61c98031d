package jetstream

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/dygmamba/dygmamba/eventlog"
	"github.com/dygmamba/dygmamba/internal/brokertest"
)

// ownCertificate makes files with a certificate for 127.0.0.1, which is its own authority, and its key.
func ownCertificate(t *testing.T, dir string) (certificate, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true,
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &pair.PublicKey, pair)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	return certificate, key
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// credentials is a file as NATS makes it for a user. The seed is the one of its documentation.
const credentials = `-----BEGIN NATS USER JWT-----
who.it.is
------END NATS USER JWT------

-----BEGIN USER NKEY SEED-----
SUAMK2FG4MI6UE3ACF3FK3OIQBCEIEZV7NSWFFEW63UXMRLFM2XLAXK4GY
------END USER NKEY SEED------
`

// onlyWithSignature lets in who signs with the key of credentials.
type onlyWithSignature struct{}

func (onlyWithSignature) Check(c server.ClientAuthentication) bool { return c.GetOpts().Sig != "" }

// Servers of NATS that want TLS, a certificate and credentials get them from files, and who lacks one is not let in.
func TestSecured(t *testing.T) {
	dir := t.TempDir()
	o := brokertest.Settings(t.TempDir())
	certificate, key := ownCertificate(t, dir)
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: certificate, KeyFile: key, CaFile: certificate,
		Verify: true, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	o.TLS, o.TLSConfig, o.TLSTimeout = true, config, 10
	o.CustomClientAuthentication, o.AlwaysEnableNonce = onlyWithSignature{}, true
	url := strings.Replace(brokertest.Run(t, o).ClientURL(), "nats://", "tls://", 1)
	user := filepath.Join(dir, "user.creds")
	write(t, user, credentials)
	all := Options{Credentials: user, CA: certificate, Certificate: certificate, Key: key}
	l := open(t, url, all)
	if _, err := l.Append(t.Context(), "", []eventlog.Event{{Src: "a", Dst: "b"}}); err != nil {
		t.Error(err)
	}
	for name, o := range map[string]Options{
		"no credentials": {CA: certificate, Certificate: certificate, Key: key},
		"no authority":   {Credentials: user, Certificate: certificate, Key: key},
		"no certificate": {Credentials: user, CA: certificate},
	} {
		if l, err := Open(t.Context(), url, o); err == nil {
			l.Close()
			t.Errorf("%s, and it is let in", name)
		}
	}
}
