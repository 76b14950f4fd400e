// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
)

// The host follows the APIService with a delay. It must have seen a new authority before that signs anything.
func TestAnAuthorityIsTrustedBeforeItSigns(t *testing.T) {
	tests := map[string]struct {
		// happens is what becomes of a cluster whose Secret once had the content before.
		happens func(c *cluster, before *corev1.Secret, replicas ...*SecretProvider)
		// authorities is how many are trusted while the new one is announced.
		authorities int
	}{
		"it is new": {happens: func(c *cluster, _ *corev1.Secret, replicas ...*SecretProvider) {
			c.clock.Step(authorityLife*2/3 - servingLife/2)
			c.settle(replicas...) // the serving certificate is young when the authority has to be renewed
			c.clock.Step(servingLife / 2)
		}, authorities: 2},
		"it is restored from a backup": {happens: func(c *cluster, before *corev1.Secret, _ ...*SecretProvider) {
			c.updateSecret(func(secret *corev1.Secret) { secret.Data, secret.Annotations = before.Data, before.Annotations })
		}, authorities: 2},
		"two backups are restored, one soon after the other": {happens: func(c *cluster, before *corev1.Secret, replicas ...*SecretProvider) {
			c.updateSecret(func(secret *corev1.Secret) { secret.Data, secret.Annotations = before.Data, before.Annotations })
			c.settle(replicas...)
			c.updateSecret(func(secret *corev1.Secret) { secret.Data, secret.Annotations = newCluster(c.T).filled().Data, nil })
		}, authorities: 3},
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
			test.happens(c, before, one, two)
			former := c.caBundle()
			c.settle(one, two)
			if c.authorities() != test.authorities {
				t.Fatalf("the cluster trusts %d authorities, want %d", c.authorities(), test.authorities)
			}
			for _, replica := range []*SecretProvider{one, two} {
				if !trusts(t, former, replica, c.clock) {
					t.Error("what is served is not trusted by a host that is a moment behind")
				}
			}
			c.clock.Step(announcement + time.Minute)
			c.settle(one, two)
			if trusts(t, former, one, c.clock) {
				t.Error("the authority never begins to sign")
			}
		})
	}
}

// trusts reports whether a client with these authorities trusts what a replica serves.
func trusts(t *testing.T, bundle []byte, replica *SecretProvider, clock clock.PassiveClock) bool {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	pair, err := tls.X509KeyPair(replica.CurrentCertKeyContent())
	if err != nil {
		t.Fatal(err)
	}
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: someNames[0], CurrentTime: clock.Now()})
	return err == nil
}

// The clock of a machine may be wrong until it has asked for the time.
func TestACertificateFromTheFutureIsReplaced(t *testing.T) {
	c := newCluster(t)
	now := c.clock.Now()
	c.clock.SetTime(now.Add(5 * 365 * 24 * time.Hour))
	c.settle(c.replica())
	c.clock.SetTime(now)
	c.settle(c.replica())
	c.clock.Step(overlap + time.Minute)
	c.settle(c.replica())
	if c.authorities() != 1 {
		t.Errorf("the cluster trusts %d authorities, want one", c.authorities())
	}
}

func TestAnAnnotationFromTheFutureDoesNotKeepAuthorities(t *testing.T) {
	c := newCluster(t)
	replica := c.replica()
	c.settle(replica)
	c.updateSecret(func(secret *corev1.Secret) {
		other, err := newAuthority(c.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		secret.Data[authoritiesKey] = slices.Concat(secret.Data[authoritiesKey], other.certPEM)
		secret.Annotations[sinceAnnotation] = "2099-01-01T00:00:00Z"
	})
	c.settle(replica)
	c.clock.Step(overlap + 2*clockSkew)
	c.settle(replica)
	if c.authorities() != 1 {
		t.Errorf("the cluster trusts %d authorities, want one", c.authorities())
	}
}

// While an update rolls out, replicas may have different names.
func TestReplicasWithDifferentNamesDoNotTakeTurns(t *testing.T) {
	c := newCluster(t)
	one, two := c.replica(), c.replica()
	two.who.dnsNames = slices.Concat(two.who.dnsNames, []string{"another.example"})
	c.settle(one, two)
	writes := c.writes()
	c.settle(one, two)
	if more := c.writes() - writes; more != 0 {
		t.Errorf("%d writes without a reason", more)
	}
}

func TestAFightIsSlow(t *testing.T) {
	c := newCluster(t)
	replica := c.replica()
	c.settle(replica)
	writes := c.writes()
	var told error
	for range 100 {
		c.register(map[string]any{"service": ownService(), "caBundle": "bm9uc2Vuc2U="})
		if err := replica.RunOnce(t.Context()); err != nil {
			told = err
		}
	}
	if more := c.writes() - writes; more > writeBurst || told == nil || !strings.Contains(told.Error(), "keeps changing") {
		t.Errorf("%d writes, and an error %v", more, told)
	}
	c.clock.Step(time.Minute)
	c.settle(replica)
}

func TestTheAPIServiceOfAnotherServerIsLeftAlone(t *testing.T) {
	c := newCluster(t)
	c.register(map[string]any{"service": map[string]any{"name": "another", "namespace": secretNamespace}, "caBundle": "b3RoZXJz"})
	if err := c.replica().RunOnce(t.Context()); err != nil {
		t.Error(err)
	}
	if string(c.caBundle()) != "others" {
		t.Error("the caBundle of another server is replaced")
	}
}

// runs runs a replica in a bubble. It returns the function that ends it.
func runs(replica *SecretProvider) (stop func()) {
	replica.config.Clock = clock.RealClock{} // of the bubble
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { replica.Run(ctx, 1) })
	return func() {
		cancel()
		running.Wait()
	}
}

// pass lets time pass in a bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// Nothing asks RunOnce here: what happens to the Secret and the APIService is watched.
func TestARunningProviderNoticesWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		replica := c.replica()
		c.clock.SetTime(time.Now())
		defer runs(replica)()
		agree := func() {
			t.Helper()
			pass(time.Second)
			c.clock.SetTime(time.Now())
			c.trusts(replica)
		}
		agree()

		c.register(map[string]any{"service": ownService()})
		agree()

		first, _ := replica.CurrentCertKeyContent()
		if err := c.kube.CoreV1().Secrets(secretNamespace).Delete(t.Context(), secretName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		agree()
		if now := c.secret().Data[corev1.TLSCertKey]; !bytes.Equal(first, now) {
			t.Error("the Secret is not written again with what is served")
		}

		requests := c.requests()
		pass(servingLife / 2)
		if more := c.requests() - requests; more != 0 {
			t.Errorf("%d requests while nothing happens", more)
		}
		pass(servingLife / 3)
		agree()
		if now, _ := replica.CurrentCertKeyContent(); bytes.Equal(first, now) {
			t.Error("the certificate is not renewed")
		}
	})
}

// A host that was away for hours is asked again within seconds.
func TestAHostThatComesBackIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		var away atomic.Bool
		away.Store(true)
		c.kube.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return away.Load(), nil, apierrors.NewServiceUnavailable("away")
		})
		replica := c.replica()
		defer runs(replica)()
		pass(5 * time.Hour)
		if err := replica.Check(); err == nil || !strings.Contains(err.Error(), "away") {
			t.Errorf("the check says %v", err)
		}
		away.Store(false)
		pass(maxRetryDelay + time.Second)
		if err := replica.Check(); err != nil {
			t.Error(err)
		}
		c.clock.SetTime(time.Now())
		c.trusts(replica)
	})
}

// Why the certificate cannot be kept is said once as long as that lasts, where whoever looks at the Secret finds it.
func TestWhyTheCertificateIsNotKeptIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		c.kube.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(corev1.Resource("secrets"), secretName, errors.New("no rights"))
		})
		defer runs(c.replica())()
		pass(time.Hour)
		events, err := c.kube.CoreV1().Events(secretNamespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(events.Items) != 1 {
			t.Fatalf("there are the events %v, %v, want one", events, err)
		}
		event := events.Items[0]
		if event.InvolvedObject.Name != secretName || event.Type != corev1.EventTypeWarning || !strings.Contains(event.Message, "no rights") {
			t.Errorf("the event is %+v", event)
		}
	})
}
