// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

func authority(t testing.TB, name string) *pki.Authority {
	t.Helper()
	made, err := pki.NewAuthority(name)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// clientPair is a client certificate and its key.
func clientPair(t testing.TB, ca *pki.Authority, user string) pki.KeyPair {
	t.Helper()
	made, err := ca.Client(user)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// servingCertificate is a certificate for loopback.
func servingCertificate(t testing.TB, ca *pki.Authority) tls.Certificate {
	t.Helper()
	made, err := ca.Serving(net.IPv4(127, 0, 0, 1), "hooks.example")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(made.Cert, made.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// Settings as they stand in specs.
func caInSecret(key string) *v1alpha1.CABundle {
	return &v1alpha1.CABundle{SecretRef: &v1alpha1.ResourceKeyRef{Namespace: "tools", Name: "a", Key: &key}}
}

func caInConfigMap(key string) *v1alpha1.CABundle {
	return &v1alpha1.CABundle{ConfigMapRef: &v1alpha1.ResourceKeyRef{Namespace: "tools", Name: "a", Key: &key}}
}

func certificateInSecret(certKey, keyKey string) *v1alpha1.ClientTLS {
	return &v1alpha1.ClientTLS{SecretRef: v1alpha1.SecretRef{Namespace: "tools", Name: "a"}, CertKey: &certKey,
		PrivateKeyKey: &keyKey}
}

func tokenInSecret(scheme, key string) *v1alpha1.Authorization {
	return &v1alpha1.Authorization{Type: &scheme, SecretRef: v1alpha1.SecretKeyRef{Namespace: "tools",
		Name: "a", Key: key}}
}

func passwordInSecret(userKey, passwordKey string) *v1alpha1.BasicAuth {
	return &v1alpha1.BasicAuth{SecretRef: v1alpha1.SecretRef{Namespace: "tools", Name: "a"},
		UsernameKey: &userKey, PasswordKey: &passwordKey}
}

// opened returns a hook's transport after its settings have been read, and the error of reading them.
func opened(t *testing.T, hosts *cluster, settings settings) (*Transport, error) {
	t.Helper()
	settings.path = "spec.hooks.sync.webhook"
	made := newTransport(settings, Options{MaxIdleConnections: 2, Sources: hosts})
	t.Cleanup(made.Close)
	return made, made.Open(t.Context(), func(err error) { t.Errorf("told %v", err) })
}

func TestWhatSettingsComeTo(t *testing.T) {
	ca := authority(t, "ca")
	pair := clientPair(t, ca, "server")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.Cert)
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	inSecret := func(data map[string]string) func(*cluster) {
		return func(c *cluster) { c.put(secret("tools", "a"), data) }
	}
	inConfigMap := func(data map[string]string) func(*cluster) {
		return func(c *cluster) { c.put(configMap("tools", "a"), data) }
	}
	tests := map[string]struct {
		settings settings
		there    func(*cluster)
		want     credentials
	}{
		"nothing": {},
		"authorities in the spec": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{Inline: ptr.To(string(ca.Cert))}}}, want: credentials{roots: pool},
		},
		"no authorities in the spec are those of the system": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{Inline: ptr.To("")}}}, want: credentials{},
		},
		"authorities in a Secret": {
			settings{Connection: v1alpha1.Connection{CABundle: caInSecret("")}}, inSecret(map[string]string{"ca.crt": string(ca.Cert)}), credentials{roots: pool},
		},
		"authorities under a key of a Secret": {
			settings{Connection: v1alpha1.Connection{CABundle: caInSecret("my.pem")}}, inSecret(map[string]string{"ca.crt": "no", "my.pem": string(ca.Cert)}), credentials{roots: pool},
		},
		"authorities in a ConfigMap": {
			settings{Connection: v1alpha1.Connection{CABundle: caInConfigMap("")}}, inConfigMap(map[string]string{"ca.crt": string(ca.Cert)}), credentials{roots: pool},
		},
		"authorities under a key of a ConfigMap": {
			settings{Connection: v1alpha1.Connection{CABundle: caInConfigMap("my.pem")}}, inConfigMap(map[string]string{"my.pem": string(ca.Cert)}), credentials{roots: pool},
		},
		"authorities in the binary data of a ConfigMap": {
			settings{Connection: v1alpha1.Connection{CABundle: caInConfigMap("")}},
			func(c *cluster) {
				c.putRaw(configMap("tools", "a"), map[string]any{"binaryData": map[string][]byte{"ca.crt": ca.Cert}})
			},
			credentials{roots: pool},
		},
		"text around authorities": {
			settings{Connection: v1alpha1.Connection{CABundle: caInConfigMap("")}}, inConfigMap(map[string]string{"ca.crt": "# ours\n" + string(ca.Cert) + "# end\n"}), credentials{roots: pool},
		},
		"a client certificate": {
			settings{Connection: v1alpha1.Connection{ClientTLS: certificateInSecret("", "")}}, inSecret(map[string]string{"tls.crt": string(pair.Cert), "tls.key": string(pair.Key)}),
			credentials{certificates: []tls.Certificate{certificate}},
		},
		"a client certificate under other keys": {
			settings{Connection: v1alpha1.Connection{ClientTLS: certificateInSecret("c", "k")}}, inSecret(map[string]string{"c": string(pair.Cert), "k": string(pair.Key)}),
			credentials{certificates: []tls.Certificate{certificate}},
		},
		"a token": {
			settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("Bearer", "token")}}, inSecret(map[string]string{"token": "s3cret"}), credentials{authorization: "Bearer s3cret"},
		},
		"a token without a type": {
			settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token")}}, inSecret(map[string]string{"token": "s3cret"}), credentials{authorization: "Bearer s3cret"},
		},
		"a token of a blank type": {
			settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret(" \t", "token")}}, inSecret(map[string]string{"token": "s3cret"}), credentials{authorization: "Bearer s3cret"},
		},
		"a token of another type": {
			settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret(" Token ", "token")}}, inSecret(map[string]string{"token": "s3cret"}), credentials{authorization: "Token s3cret"},
		},
		"a token with white space around it": {
			settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token")}}, inSecret(map[string]string{"token": "\n s3cret and more\r\n"}), credentials{authorization: "Bearer s3cret and more"},
		},
		"a password": {
			settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("", "")}}, inSecret(map[string]string{"username": "me", "password": "s3cret"}), credentials{authorization: basic("me:s3cret")},
		},
		"a password under other keys": {
			settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("u", "p")}}, inSecret(map[string]string{"u": "me", "p": "s3cret"}), credentials{authorization: basic("me:s3cret")},
		},
		"a password with white space around it": {
			settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("", "")}}, inSecret(map[string]string{"username": " me\n", "password": "\ts3cret\n"}), credentials{authorization: basic("me:s3cret")},
		},
		"a password with a colon": {
			settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("", "")}}, inSecret(map[string]string{"username": "me", "password": "s3:cret"}), credentials{authorization: basic("me:s3:cret")},
		},
		"an empty password": {
			settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("", "")}}, inSecret(map[string]string{"username": "me", "password": ""}), credentials{authorization: basic("me:")},
		},
		"an empty token": {
			settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token")}}, inSecret(map[string]string{"token": ""}), credentials{authorization: "Bearer "},
		},
		"a blank token": {
			settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token")}}, inSecret(map[string]string{"token": " \n"}), credentials{authorization: "Bearer "},
		},
		"no user name and no password": {
			settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("", "")}}, inSecret(map[string]string{"username": "", "password": "\n"}), credentials{authorization: basic(":")},
		},
		"all from one Secret": {
			settings{Connection: v1alpha1.Connection{CABundle: caInSecret(""), ClientTLS: certificateInSecret("", ""), Authorization: tokenInSecret("", "token")}},
			inSecret(map[string]string{"ca.crt": string(ca.Cert), "tls.crt": string(pair.Cert), "tls.key": string(pair.Key), "token": "s3cret"}),
			credentials{roots: pool, certificates: []tls.Certificate{certificate}, authorization: "Bearer s3cret"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hosts := newCluster(t)
			if test.there != nil {
				test.there(hosts)
			}
			got, err := opened(t, hosts, test.settings)
			if err != nil {
				t.Fatal(err)
			}
			if !got.shared.sameTLS(&test.want) {
				t.Error("the TLS material is another one")
			}
			if got.credentials.authorization != test.want.authorization {
				t.Errorf("the header is %q, want %q", got.credentials.authorization, test.want.authorization)
			}
			if slices.Contains(got.credentials.secrets, "") {
				t.Error("nothing would be hidden everywhere")
			}
			if hosts.opened > 1 {
				t.Errorf("one object is followed %d times", hosts.opened)
			}
		})
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	ca := authority(t, "ca")
	pair, other := clientPair(t, ca, "server"), clientPair(t, ca, "other")
	const word = "s3cret"
	const spec = "spec.hooks.sync.webhook."
	tests := map[string]struct {
		settings settings
		secret   map[string]string
		// config is the ConfigMap.
		config map[string]string
		want   string
		// mendable is true if a change of a source can help.
		mendable bool
	}{
		"a token and a password": {
			settings: settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token"), BasicAuth: passwordInSecret("", "")}},
			want:     "spec.hooks.sync.webhook: authorization and basicAuth are mutually exclusive: set one of them",
		},
		"no source of authorities": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{}}}, want: spec + "caBundle: set " +
				"one of inline, secretRef, and configMapRef",
		},
		"two sources of authorities": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{Inline: ptr.To(""), SecretRef: caInSecret("").SecretRef}}},
			want:     spec + "caBundle: only one of inline, secretRef and configMapRef can be set, not inline and secretRef",
		},
		"three sources of authorities": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{
				Inline: ptr.To(string(ca.Cert)), SecretRef: caInSecret("").SecretRef, ConfigMapRef: caInConfigMap("").ConfigMapRef,
			}}},
			want: spec + "caBundle: only one of inline, secretRef and configMapRef can be set, not inline and secretRef and configMapRef",
		},
		"authorities in the spec that are none": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{Inline: ptr.To(word)}}}, want: spec + "caBundle.inline contains no PEM certificate",
		},
		"a key instead of authorities in the spec": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{Inline: ptr.To(string(ca.Key))}}}, want: spec + "caBundle.inline contains no PEM certificate",
		},
		"a Secret of authorities without a name": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{SecretRef: &v1alpha1.ResourceKeyRef{Namespace: "tools"}}}},
			want:     spec + "caBundle.secretRef.name must be the name of the Secret",
		},
		"a ConfigMap of authorities without a namespace": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: &v1alpha1.CABundle{ConfigMapRef: &v1alpha1.ResourceKeyRef{Name: "a"}}}},
			want:     spec + "caBundle.configMapRef.namespace must be the namespace of the ConfigMap",
		},
		"no Secret of authorities": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: caInSecret("")}}, mendable: true,
			want: spec + "caBundle.secretRef: Secret tools/a: it does not exist",
		},
		"a Secret of authorities without the key": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: caInSecret("")}}, secret: map[string]string{"ca": word}, mendable: true,
			want: spec + `caBundle.secretRef: Secret tools/a: it has no key "ca.crt"; it has the keys: "ca"`,
		},
		"a Secret with nothing under the key of authorities": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: caInSecret("my.pem")}}, secret: map[string]string{"my.pem": ""}, mendable: true,
			want: spec + `caBundle.secretRef: Secret tools/a: key "my.pem" is empty`,
		},
		"a Secret with no certificate under the key of authorities": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: caInSecret("")}}, secret: map[string]string{"ca.crt": word}, mendable: true,
			want: spec + `caBundle.secretRef: Secret tools/a: key "ca.crt" contains no PEM certificate`,
		},
		"no ConfigMap of authorities": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: caInConfigMap("")}}, mendable: true,
			want: spec + "caBundle.configMapRef: ConfigMap tools/a: it does not exist",
		},
		"a ConfigMap of authorities without the key": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: caInConfigMap("")}}, config: map[string]string{}, mendable: true,
			want: spec + `caBundle.configMapRef: ConfigMap tools/a: it has no key "ca.crt"`,
		},
		"a ConfigMap with nothing under the key of authorities": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: caInConfigMap("")}}, config: map[string]string{"ca.crt": ""}, mendable: true,
			want: spec + `caBundle.configMapRef: ConfigMap tools/a: key "ca.crt" is empty`,
		},
		"a ConfigMap with no certificate under the key of authorities": {
			settings: settings{Connection: v1alpha1.Connection{CABundle: caInConfigMap("")}}, config: map[string]string{"ca.crt": word}, mendable: true,
			want: spec + `caBundle.configMapRef: ConfigMap tools/a: key "ca.crt" contains no PEM certificate`,
		},
		"no Secret of a client certificate": {
			settings: settings{Connection: v1alpha1.Connection{ClientTLS: certificateInSecret("", "")}}, mendable: true,
			want: spec + "clientTLS.secretRef: Secret tools/a: it does not exist",
		},
		"a Secret without the client certificate": {
			settings: settings{Connection: v1alpha1.Connection{ClientTLS: certificateInSecret("", "")}}, secret: map[string]string{"tls.key": string(pair.Key)}, mendable: true,
			want: spec + `clientTLS.secretRef: Secret tools/a: it has no key "tls.crt"; it has the keys: "tls.key"`,
		},
		"a Secret without the key of the client certificate": {
			settings: settings{Connection: v1alpha1.Connection{ClientTLS: certificateInSecret("", "k")}}, secret: map[string]string{"tls.crt": string(pair.Cert)}, mendable: true,
			want: spec + `clientTLS.secretRef: Secret tools/a: it has no key "k"; it has the keys: "tls.crt"`,
		},
		"a client certificate that is none": {
			settings: settings{Connection: v1alpha1.Connection{ClientTLS: certificateInSecret("", "")}}, secret: map[string]string{"tls.crt": word, "tls.key": word}, mendable: true,
			want: spec + `clientTLS.secretRef: Secret tools/a: keys "tls.crt" and "tls.key": tls: failed to find any PEM data in certificate input`,
		},
		"a client certificate with the key of another": {
			settings: settings{Connection: v1alpha1.Connection{ClientTLS: certificateInSecret("", "")}}, secret: map[string]string{"tls.crt": string(pair.Cert), "tls.key": string(other.Key)}, mendable: true,
			want: spec + `clientTLS.secretRef: Secret tools/a: keys "tls.crt" and "tls.key": tls: private key does not match public key`,
		},
		"a token of type basic":               {settings: settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("basic", "token")}}, want: spec + `authorization.type: "basic" is not supported here; use basicAuth`},
		"a token of type basic in capitals":   {settings: settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("BASIC", "token")}}, want: spec + `authorization.type: "BASIC" is not supported here; use basicAuth`},
		"a token of type basic between blank": {settings: settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret(" Basic ", "token")}}, want: spec + `authorization.type: "Basic" is not supported here; use basicAuth`},
		"a token without a key":               {settings: settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "")}}, want: spec + "authorization.secretRef.key must be the key of the credential in the Secret"},
		"no Secret of a token": {
			settings: settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token")}}, mendable: true,
			want: spec + "authorization.secretRef: Secret tools/a: it does not exist",
		},
		"a Secret without the token": {
			settings: settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token")}}, secret: map[string]string{"other": word}, mendable: true,
			want: spec + `authorization.secretRef: Secret tools/a: it has no key "token"; it has the keys: "other"`,
		},
		"a Secret without anything": {
			settings: settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token")}}, secret: map[string]string{}, mendable: true,
			want: spec + `authorization.secretRef: Secret tools/a: it has no key "token"`,
		},
		"a token of two lines": {
			settings: settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token")}}, secret: map[string]string{"token": word + "\nX-Other: " + word}, mendable: true,
			want: spec + `authorization.secretRef: Secret tools/a: key "token" contains a line break or another control character`,
		},
		"no Secret of a password": {
			settings: settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("", "")}}, mendable: true,
			want: spec + "basicAuth.secretRef: Secret tools/a: it does not exist",
		},
		"a Secret without the user name": {
			settings: settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("", "")}}, secret: map[string]string{"password": word}, mendable: true,
			want: spec + `basicAuth.secretRef: Secret tools/a: it has no key "username"; it has the keys: "password"`,
		},
		"a Secret without the password": {
			settings: settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("", "p")}}, secret: map[string]string{"username": word, "password": word}, mendable: true,
			want: spec + `basicAuth.secretRef: Secret tools/a: it has no key "p"; it has the keys: "password", "username"`,
		},
		"a user name with a colon": {
			settings: settings{Connection: v1alpha1.Connection{BasicAuth: passwordInSecret("", "")}}, secret: map[string]string{"username": word + ":me", "password": word}, mendable: true,
			want: spec + `basicAuth.secretRef: Secret tools/a: key "username": a user name cannot contain a colon`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hosts := newCluster(t)
			version := ""
			if test.secret != nil {
				hosts.put(secret("tools", "a"), test.secret)
				version = "1"
			}
			if test.config != nil {
				hosts.put(configMap("tools", "a"), test.config)
				version = "1"
			}
			made, err := opened(t, hosts, test.settings)
			if err == nil {
				t.Fatal("it is accepted")
			}
			if err.Error() != test.want {
				t.Errorf("error is\n%s\nwant\n%s", err, test.want)
			}
			if strings.Contains(err.Error(), word) {
				t.Error("the error tells what is secret")
			}
			unusable, mendable := errors.AsType[*SourceError](err)
			switch {
			case mendable != test.mendable:
				t.Errorf("a change of a source can mend it: %v, want %v", mendable, test.mendable)
			case mendable && unusable.ResourceVersion != version:
				t.Errorf("it is about version %q of the source, want %q", unusable.ResourceVersion, version)
			}
			made.Close()
			if followed := hosts.followed(); followed > 0 {
				t.Errorf("%d objects are still followed", followed)
			}
		})
	}
}

func TestAHostThatRefusesToTellASecret(t *testing.T) {
	hosts := newCluster(t)
	hosts.refusal = errors.New(`secrets "a" is forbidden`)
	_, err := opened(t, hosts, settings{Connection: v1alpha1.Connection{Authorization: tokenInSecret("", "token")}})
	const want = `spec.hooks.sync.webhook.authorization.secretRef: Secret tools/a: it cannot be read: secrets "a" is forbidden`
	if err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if _, ok := errors.AsType[*SourceError](err); !ok {
		t.Error("it is not seen that it may be over")
	}
}
