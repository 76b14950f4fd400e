// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

const (
	secretNamespace = "metacontroller"
	secretName      = "certificates"
	serviceName     = "v1alpha1.metacontroller.k8s.io"
)

var (
	someNames = []string{"api.system.svc", "localhost"}
	someIPs   = []net.IP{net.IPv4(127, 0, 0, 1)}
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// cluster is a host with a clock. It trusts the certificates that the caBundle of its APIService lets it trust.
type cluster struct {
	*testing.T
	kube    *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient
	clock   *clocktesting.FakeClock
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{
		T: t, kube: fake.NewClientset(), dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{apiServicesResource(): "APIServiceList"}),
		clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}
	c.register(map[string]any{"service": ownService()})
	return c
}

// ownService is the Service of the replicas, as an APIService names it.
func ownService() map[string]any {
	return map[string]any{"name": "metacontroller-apiserver", "namespace": secretNamespace}
}

func (c *cluster) register(spec map[string]any) {
	c.Helper()
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": serviceName}, "spec": spec,
	}}
	services := c.dynamic.Resource(apiServicesResource())
	_, err := services.Create(c.Context(), service, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = services.Update(c.Context(), service, metav1.UpdateOptions{})
	}
	if err != nil {
		c.Fatal(err)
	}
}

// replica starts a replica. It has not looked at the cluster yet.
func (c *cluster) replica() *SecretProvider {
	c.Helper()
	provider, err := NewSecretProvider(SecretConfig{
		Namespace: secretNamespace, Name: secretName, APIService: serviceName, Service: "metacontroller-apiserver", DNSNames: someNames, IPs: someIPs,
		Kube: c.kube, Dynamic: c.dynamic, Clock: c.clock,
	})
	if err != nil {
		c.Fatal(err)
	}
	return provider
}

// settle lets replicas look at the cluster until nothing changes. After each look, the cluster must trust
// what each replica serves.
func (c *cluster) settle(replicas ...*SecretProvider) {
	c.Helper()
	for range 4 {
		for _, replica := range replicas {
			if err := replica.RunOnce(c.Context()); err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
				c.Logf("a replica is told: %v", err)
			}
		}
	}
	for _, replica := range replicas {
		if err := replica.RunOnce(c.Context()); err != nil {
			c.Fatalf("the cluster does not settle: %v", err)
		}
	}
	c.trusts(replicas...)
}

func (c *cluster) trusts(replicas ...*SecretProvider) {
	c.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.caBundle())
	for i, replica := range replicas {
		pair, err := tls.X509KeyPair(replica.CurrentCertKeyContent())
		if err != nil {
			c.Fatal(err)
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: someNames[0], CurrentTime: c.clock.Now()}); err != nil {
			c.Errorf("at %s the cluster does not trust replica %d: %v", c.clock.Now(), i, err)
		}
	}
}

func (c *cluster) caBundle() []byte {
	c.Helper()
	service, err := c.dynamic.Resource(apiServicesResource()).Get(c.Context(), serviceName, metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	encoded, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
	bundle, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		c.Fatal(err)
	}
	return bundle
}

func (c *cluster) secret() *corev1.Secret {
	c.Helper()
	secret, err := c.kube.CoreV1().Secrets(secretNamespace).Get(c.Context(), secretName, metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return secret
}

// filled returns the Secret that a replica makes.
func (c *cluster) filled() *corev1.Secret {
	c.Helper()
	c.settle(c.replica())
	return c.secret()
}

func (c *cluster) updateSecret(change func(*corev1.Secret)) {
	c.Helper()
	secret := c.secret()
	change(secret)
	if _, err := c.kube.CoreV1().Secrets(secretNamespace).Update(c.Context(), secret, metav1.UpdateOptions{}); err != nil {
		c.Fatal(err)
	}
}

// writes counts what replicas write; tests change the APIService in other ways.
func (c *cluster) writes() int {
	count := 0
	for _, action := range slices.Concat(c.kube.Actions(), c.dynamic.Actions()) {
		isSecret := action.GetResource().Resource == "secrets"
		if verb := action.GetVerb(); verb == "patch" || isSecret && (verb == "create" || verb == "update") {
			count++
		}
	}
	return count
}

func (c *cluster) requests() int { return len(c.kube.Actions()) + len(c.dynamic.Actions()) }

// authorities is how many authorities the cluster trusts.
func (c *cluster) authorities() int { return bytes.Count(c.caBundle(), []byte("BEGIN CERTIFICATE")) }

func TestReplicasThatStartAtOnceShareOneCertificate(t *testing.T) {
	c := newCluster(t)
	one, two := c.replica(), c.replica()
	if one.Check() == nil {
		t.Error("a replica is ready before it knows the certificate that others may have made")
	}
	c.settle(one, two)
	first, _ := one.CurrentCertKeyContent()
	second, _ := two.CurrentCertKeyContent()
	if !bytes.Equal(first, second) || c.authorities() != 1 {
		t.Errorf("they serve different certificates, or there are %d authorities", c.authorities())
	}
	if err := one.Check(); err != nil {
		t.Error(err)
	}
	again := c.replica()
	c.settle(again)
	if third, _ := again.CurrentCertKeyContent(); !bytes.Equal(first, third) {
		t.Error("a replica that starts later does not serve the certificate of the others")
	}
}

// In 25 years the serving certificate is renewed some 150 times, and the authority three times.
func TestForYearsTheClusterTrustsWhatIsServed(t *testing.T) {
	c := newCluster(t)
	one, two := c.replica(), c.replica()
	c.settle(one, two)
	served, renewals, most := "", 0, 0
	for range 25 * 365 / 5 {
		c.clock.Step(5 * 24 * time.Hour)
		for _, replica := range []*SecretProvider{one, two, two, one} {
			_ = replica.RunOnce(c.Context())
			c.trusts(one, two)
			most = max(most, c.authorities())
		}
		if now, _ := one.CurrentCertKeyContent(); string(now) != served {
			served, renewals = string(now), renewals+1
		}
	}
	if most != 2 || c.authorities() != 1 || renewals < 100 || renewals > 200 {
		t.Errorf("at most %d authorities at once, %d at the end, %d certificates", most, c.authorities(), renewals)
	}
}

func TestTheSecretHeals(t *testing.T) {
	tests := map[string]struct {
		// happens is what becomes of a Secret that once had the content before.
		happens     func(c *cluster, before *corev1.Secret)
		authorities int
	}{
		"it is deleted": {happens: func(c *cluster, _ *corev1.Secret) {
			if err := c.kube.CoreV1().Secrets(secretNamespace).Delete(c.Context(), secretName, metav1.DeleteOptions{}); err != nil {
				c.Fatal(err)
			}
		}, authorities: 1},
		"its key is lost": {happens: func(c *cluster, _ *corev1.Secret) {
			c.updateSecret(func(secret *corev1.Secret) { delete(secret.Data, authorityKeyKey) })
		}, authorities: 1},
		"it is emptied": {happens: func(c *cluster, _ *corev1.Secret) {
			c.updateSecret(func(secret *corev1.Secret) { secret.Data, secret.Annotations = nil, nil })
		}, authorities: 1},
		"the serving certificate is damaged": {happens: func(c *cluster, _ *corev1.Secret) {
			c.updateSecret(func(secret *corev1.Secret) { secret.Data[corev1.TLSCertKey] = []byte("no certificate") })
		}, authorities: 1},
		"a backup with another authority is restored": {happens: func(c *cluster, before *corev1.Secret) {
			c.updateSecret(func(secret *corev1.Secret) { secret.Data, secret.Annotations = before.Data, before.Annotations })
		}, authorities: 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.settle(c.replica())
			before := c.secret()
			if err := c.kube.CoreV1().Secrets(secretNamespace).Delete(t.Context(), secretName, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			one, two := c.replica(), c.replica()
			c.settle(one, two)
			c.clock.Step(time.Hour)

			test.happens(c, before)
			for range 3 {
				for _, replica := range []*SecretProvider{one, two} {
					_ = replica.RunOnce(t.Context())
					c.trusts(replica)
				}
			}
			c.settle(one, two)
			if got := c.authorities(); got != test.authorities {
				t.Errorf("the cluster trusts %d authorities, want %d", got, test.authorities)
			}
			for _, period := range []time.Duration{announcement, overlap} {
				c.clock.Step(period + time.Minute)
				c.settle(one, two)
			}
			if got := c.authorities(); got != 1 {
				t.Errorf("a day later the cluster trusts %d authorities, want one", got)
			}
			if _, err := parseContent(c.secret()); err != nil {
				t.Errorf("the Secret is not whole: %v", err)
			}
		})
	}
}

func TestTheCABundleIsKept(t *testing.T) {
	tests := map[string]struct {
		spec map[string]any
		kept bool
	}{
		"somebody empties it":                              {map[string]any{"service": ownService()}, true},
		"somebody writes nonsense":                         {map[string]any{"service": ownService(), "caBundle": "bm9uc2Vuc2U="}, true},
		"somebody turns the check off":                     {map[string]any{"service": ownService(), "insecureSkipTLSVerify": true}, false},
		"the cluster serves the API by itself, from a CRD": {map[string]any{}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			replica := c.replica()
			c.settle(replica)
			want := c.caBundle()
			c.register(test.spec)
			_ = replica.RunOnce(t.Context())
			if kept := bytes.Equal(c.caBundle(), want); kept != test.kept {
				t.Errorf("the caBundle is kept: %t, want %t", kept, test.kept)
			}
		})
	}
}

func TestTheOldCertificateIsServedUntilTheClusterTrustsTheNewOne(t *testing.T) {
	c := newCluster(t)
	replica := c.replica()
	c.settle(replica)
	served, _ := replica.CurrentCertKeyContent()
	var refusal error = apierrors.NewForbidden(apiServicesResource().GroupResource(), serviceName, errors.New("no"))
	c.dynamic.PrependReactor("patch", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) {
		return refusal != nil, nil, refusal
	})
	c.updateSecret(func(secret *corev1.Secret) { secret.Data = nil })
	other := c.replica() // it has nothing else to serve
	_ = other.RunOnce(t.Context())
	if err := replica.RunOnce(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want that of the cluster", err)
	}
	if now, _ := replica.CurrentCertKeyContent(); !bytes.Equal(now, served) {
		t.Error("what the cluster trusts is no longer served")
	}
	refusal = nil
	c.settle(replica, other)
}

func TestAReplicaServesBeforeTheAPIServiceIsThere(t *testing.T) {
	c := newCluster(t)
	if err := c.dynamic.Resource(apiServicesResource()).Delete(t.Context(), serviceName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	replica := c.replica()
	if err := replica.RunOnce(t.Context()); err != nil {
		t.Error(err)
	}
	if err := replica.Check(); err != nil {
		t.Error(err)
	}
	c.register(map[string]any{"service": ownService()})
	c.settle(replica)
}
