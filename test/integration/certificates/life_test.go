// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/process"
)

func TestTheClusterTrustsAServerWithNothingButTheServerStarted(t *testing.T) {
	install(t)
	server := start(t, kubeconfig(t))
	first := secret(t) // is there before there is an APIService
	register(t, server)
	served(t)

	t.Run("the caBundle is removed by hand", func(t *testing.T) {
		env.Kubectl(t, "patch", "apiservice", aggregation.APIServiceName, "--type=json", "-p", `[{"op": "remove", "path": "/spec/caBundle"}]`)
		caBundle(t, is(first.Data["ca.crt"]))
		served(t)
	})
	t.Run("the APIService is deleted and made anew", func(t *testing.T) {
		env.Kubectl(t, "delete", "apiservice", aggregation.APIServiceName)
		register(t, server)
		caBundle(t, is(first.Data["ca.crt"]))
		served(t)
	})
	t.Run("the Secret is deleted", func(t *testing.T) {
		defer use(t)()
		deleteSecret(t)
		if again := secret(t); !bytes.Equal(again.Data[corev1.TLSCertKey], first.Data[corev1.TLSCertKey]) {
			t.Error("the new Secret does not hold what is served")
		}
	})
	t.Run("the Secret is emptied", func(t *testing.T) {
		defer use(t)()
		fill(t, map[string][]byte{corev1.TLSCertKey: nil, corev1.TLSPrivateKeyKey: nil})
		holds(t, "ca.crt", first.Data["ca.crt"])
	})
	t.Run("the Secret is restored from a backup with another authority", func(t *testing.T) {
		defer use(t)()
		other := shortLived(t, time.Now().Add(-time.Hour), time.Now().Add(1000*time.Hour))
		fill(t, other)
		caBundle(t, has(other["ca.crt"], first.Data["ca.crt"]))
		served(t)
	})
	t.Run("the authority comes near its end", func(t *testing.T) {
		defer use(t)()
		before := secret(t)
		old := shortLived(t, time.Now().Add(-100*time.Hour), time.Now().Add(10*time.Hour))
		fill(t, old)
		caBundle(t, has(old["ca.crt"]))
		eventually(t, func(ctx context.Context) error {
			now, err := secrets().Get(ctx, secretName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if signs, _, _ := bytes.Cut(now.Data["ca.crt"], []byte("-----END")); bytes.HasPrefix(old["ca.crt"], signs) || bytes.HasPrefix(before.Data["ca.crt"], signs) {
				return errors.New("there is no new authority")
			}
			return nil
		})
		served(t)
	})
}

// The certificate of a server that was off for years has expired, and so has its authority.
func TestAServerStartsWithASecretThatHasExpired(t *testing.T) {
	install(t)
	expired := shortLived(t, time.Now().Add(-100*time.Hour), time.Now().Add(-10*time.Hour))
	_, err := secrets().Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{
			corev1.TLSCertKey: expired["ca.crt"], corev1.TLSPrivateKeyKey: expired["ca.key"], "ca.crt": expired["ca.crt"], "ca.key": expired["ca.key"],
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	register(t, start(t, kubeconfig(t)))
	served(t)
}

func TestServersThatStartAtOnceShareOneCertificate(t *testing.T) {
	install(t)
	config := kubeconfig(t)
	one, two := start(t, config), start(t, config)
	register(t, one)
	served(t)
	eventually(t, func(context.Context) error {
		first, err := one.leaf()
		if err != nil {
			return err
		}
		second, err := two.leaf()
		if err != nil {
			return err
		}
		if !bytes.Equal(first, second) {
			return errors.New("they show different certificates")
		}
		return nil
	})
	bundle := secret(t).Data["ca.crt"]
	register(t, two)
	served(t)
	caBundle(t, is(bundle))
}

func TestAServerThatStartsWithoutTheClusterJoinsItLater(t *testing.T) {
	install(t)
	path, address := kubeconfigElsewhere(t)
	server := start(t, path)
	eventually(t, func(context.Context) error { _, err := server.leaf(); return err })
	register(t, server)
	forward(t, address)
	served(t)
}

// kubeconfigElsewhere returns a kubeconfig that leads to an address where nobody listens yet.
func kubeconfigElsewhere(t *testing.T) (path, address string) {
	t.Helper()
	path = kubeconfig(t)
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	port, err := process.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	address = fmt.Sprintf("127.0.0.1:%d", port)
	config.Clusters["host"].Server = "https://" + address
	path = strings.TrimSuffix(path, ".kubeconfig") + "-elsewhere.kubeconfig"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path, address
}

// forward passes on to the cluster what comes to an address.
func forward(t *testing.T, address string) {
	t.Helper()
	host, err := url.Parse(env.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var forwarding sync.WaitGroup
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		cancel()
		listener.Close()
		forwarding.Wait()
	})
	forwarding.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", host.Host)
			if err != nil {
				client.Close()
				continue
			}
			context.AfterFunc(ctx, func() { client.Close(); server.Close() })
			for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
				forwarding.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					way[0].Close()
				})
			}
		}
	})
}

// shortLived returns the data of a Secret with nothing but an authority.
func shortLived(t *testing.T, from, to time.Time) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(from.UnixNano()), Subject: pkix.Name{CommonName: fmt.Sprint("short-lived@", from.UnixNano())},
		NotBefore: from, NotAfter: to, KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "ca.key": keyPEM,
		corev1.TLSCertKey: nil, corev1.TLSPrivateKeyKey: nil,
	}
}

// holds waits until the Secret has a value.
func holds(t *testing.T, key string, value []byte) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		now, err := secrets().Get(ctx, secretName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !bytes.Equal(now.Data[key], value) {
			return fmt.Errorf("%s is not healed", key)
		}
		return nil
	})
}

func is(want []byte) func(string) error {
	return func(bundle string) error {
		if bundle != string(want) {
			return fmt.Errorf("the caBundle is %q", bundle)
		}
		return nil
	}
}

func has(authorities ...[]byte) func(string) error {
	return func(bundle string) error {
		for i, authority := range authorities {
			if !strings.Contains(bundle, string(authority)) {
				return fmt.Errorf("the caBundle has not the authority number %d", i)
			}
		}
		return nil
	}
}
