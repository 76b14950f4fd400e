// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// Hook is a webhook, or a template in the controller itself.
type Hook struct {
	// version of the protocol between the server and the webhook. The hooks of one controller may have different
	// versions.
	// Default: v1. An inline hook always has v2.
	// +optional
	Version *HookVersion `json:"version,omitempty"`

	// webhook is the endpoint of the hook, for example {url: "http://my-hooks.my-namespace/sync"}. A finalize hook needs
	// it, or inline.
	// Default: absent, the server does not call the hook, unless it has inline.
	// +optional
	Webhook *Webhook `json:"webhook,omitempty"`

	// inline is the answer itself, as a template with CEL expressions, for example {children: [{object: {apiVersion: v1,
	// kind: ConfigMap, metadata: {name: "${parent.metadata.name}"}}}]}. It cannot be combined with webhook.
	// Default: absent.
	// +optional
	Inline *InlineHook `json:"inline,omitempty"`
}

// HookVersion is a version of the protocol between the server and a hook.
// +enum
type HookVersion string

const (
	// HookVersionV1 keys the objects in a request by name, or by "namespace/name" if the parent is cluster-scoped and they
	// are not. A hook of a namespaced parent sees objects of that namespace only.
	HookVersionV1 HookVersion = "v1"
	// HookVersionV2 keys all namespaced objects in a request by "namespace/name". Hooks see related objects of all
	// namespaces. Unless responseUnMarshallMode is loose, unknown fields in an answer are errors.
	HookVersionV2 HookVersion = "v2"
)

// IsCalled reports whether the hook has something to call. The hook may be nil.
func (h *Hook) IsCalled() bool { return h != nil && (h.Webhook != nil || h.Inline != nil) }

// SetDefaults_Hook sets the version of a hook, but not of an inline one: kubectl apply would keep it for the webhook
// that replaces it.
func SetDefaults_Hook(h *Hook) {
	if h.Inline == nil && h.Version == nil {
		h.Version = ptr.To(HookVersionV1)
	}
}

// GetVersion returns the protocol version of the hook, by default v1. For an inline hook it returns v2 and ignores
// version. The hook may be nil.
func (h *Hook) GetVersion() HookVersion {
	if h != nil && h.Inline != nil {
		return HookVersionV2
	}
	if h == nil || h.Version == nil || *h.Version == "" {
		return HookVersionV1
	}
	return *h.Version
}

// Webhook is an HTTP endpoint that receives POST requests with a JSON body, and responds with status 200 and a JSON
// body. Its address is either url, or service and path.
type Webhook struct {
	// url is the address of the webhook, http or https, for example "http://my-hooks.my-namespace/sync". If it is set,
	// service and path have no effect. Do not put credentials into it, because everyone who can read this object can
	// read them; use basicAuth.
	// Default: absent, the server uses service and path.
	// +optional
	URL *string `json:"url,omitempty"`

	// timeout is the maximum duration of a call, from connecting to the last byte of the answer, as a number with a
	// unit (ms, s, m, h), for example "30s" or "1m30s". Zero or less counts as the default.
	// Default: 10s.
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// etag lets the webhook answer "304 Not Modified" instead of repeating its last answer for the same parent, for
	// example {enabled: true, cacheTimeoutSeconds: 3600}.
	// Default: absent, every answer must be complete.
	// +optional
	Etag *WebhookEtagConfig `json:"etag,omitempty"`

	// path is the path of the webhook at its service, with the leading slash, for example "/sync". The server appends
	// it to the port unchanged, and it may include a query. Required with service; ignored if url is set. Default:
	// absent.
	// +optional
	Path *string `json:"path,omitempty"`

	// service is the Service of the webhook, at the address "<protocol>://<name>.<namespace>:<port><path>", for example
	// {name: my-hooks, namespace: my-namespace, port: 8080}. Ignored if url is set. Default: absent.
	// +optional
	Service *ServiceReference `json:"service,omitempty"`

	// responseUnMarshallMode defines how strictly the server decodes answers.
	// Default: loose for hooks of version v1, strict for v2.
	// +optional
	ResponseUnmarshallMode *ResponseUnmarshallMode `json:"responseUnMarshallMode,omitempty"`

	// caBundle holds the certificate authorities that verify the certificate of the webhook, for example
	// {configMapRef: {name: hooks-ca, namespace: my-namespace}}.
	// Default: absent, the authorities of the system that the server runs on.
	// +optional
	CABundle *CABundle `json:"caBundle,omitempty"`

	// clientTLS is the client certificate that the server presents (mutual TLS), for example
	// {secretRef: {name: metacontroller-client, namespace: my-namespace}}.
	// Default: absent, none.
	// +optional
	ClientTLS *ClientTLS `json:"clientTLS,omitempty"`

	// authorization is the credential that the server sends in the Authorization header, for example
	// {secretRef: {name: hooks-token, namespace: my-namespace, key: token}}. It cannot be combined with basicAuth.
	// Default: absent, none.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`

	// basicAuth is the user name and password that the server sends in the Authorization header, for example
	// {secretRef: {name: hooks-user, namespace: my-namespace}}. It cannot be combined with authorization.
	// Default: absent, none.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
}

// Duration is a length of time written as a number with a unit (ns, us, ms, s, m, h), or several of them in a row, for
// example "300ms", "10s" or "1m30s".
//
// It is kept as text, so that you can read and repair an object that was stored with an invalid one.
type Duration string

// Parse returns the length of time, or an error that says why the text is invalid.
func (d Duration) Parse() (time.Duration, error) {
	return time.ParseDuration(string(d))
}

// ServiceReference names a Service of the cluster.
type ServiceReference struct {
	// name of the Service, for example "my-hooks".
	Name string `json:"name"`

	// namespace of the Service, for example "my-namespace". The server appends it to the name unchanged, so
	// "my-namespace.svc" works, too.
	Namespace string `json:"namespace"`

	// port of the Service, from 1 to 65535, for example 8080. Default: 80, even if the protocol is https.
	// +optional
	Port *int32 `json:"port,omitempty"`

	// protocol is the scheme of the URL, http or https. Default: http.
	// +optional
	Protocol *string `json:"protocol,omitempty"`
}

// WebhookEtagConfig defines whether the server caches answers by their ETag. The server keeps an answer with the header
// ETag, and sends the ETag in If-None-Match with the next request for the same parent. If the webhook answers 304 or
// 412, the server uses the kept answer.
type WebhookEtagConfig struct {
	// enabled turns the cache of answers on. Default: false.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// cacheTimeoutSeconds is the number of seconds for which the server keeps an answer, for example 3600. A number
	// below 1 counts as absent.
	// Default: absent, as long as the controller runs.
	// +optional
	CacheTimeoutSeconds *int32 `json:"cacheTimeoutSeconds,omitempty"`

	// cacheCleanupSeconds is stored for compatibility and has no effect: the server removes expired answers.
	// Default: absent.
	// +optional
	CacheCleanupSeconds *int32 `json:"cacheCleanupSeconds,omitempty"`
}

// ResponseUnmarshallMode defines how strictly the server decodes the answer of a webhook.
// +enum
type ResponseUnmarshallMode string

const (
	// ResponseUnmarshallModeLoose ignores unknown and repeated fields in an answer.
	ResponseUnmarshallModeLoose ResponseUnmarshallMode = "loose"
	// ResponseUnmarshallModeStrict treats unknown and repeated fields in an answer as errors.
	ResponseUnmarshallModeStrict ResponseUnmarshallMode = "strict"
)

// EndpointConfig holds the connection settings for all webhooks of a controller at one host.
type EndpointConfig struct {
	// host is the host name of the webhooks, with or without a port, for example "my-hooks.my-namespace" or
	// "my-hooks.my-namespace:8443". Case does not matter. Without a port it matches only URLs that use the default port of
	// their scheme (80 for http, 443 for https).
	Host string `json:"host"`

	// caBundle holds the certificate authorities that verify the certificate of the webhook, for example
	// {configMapRef: {name: hooks-ca, namespace: my-namespace}}.
	// Default: absent, the authorities of the system that the server runs on.
	// +optional
	CABundle *CABundle `json:"caBundle,omitempty"`

	// clientTLS is the client certificate that the server presents (mutual TLS), for example
	// {secretRef: {name: metacontroller-client, namespace: my-namespace}}.
	// Default: absent, none.
	// +optional
	ClientTLS *ClientTLS `json:"clientTLS,omitempty"`

	// authorization is the credential that the server sends in the Authorization header, for example
	// {secretRef: {name: hooks-token, namespace: my-namespace, key: token}}. It cannot be combined with basicAuth.
	// Default: absent, none.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`

	// basicAuth is the user name and password that the server sends in the Authorization header, for example
	// {secretRef: {name: hooks-user, namespace: my-namespace}}. It cannot be combined with authorization.
	// Default: absent, none.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
}

// CABundle refers to the PEM-encoded certificates of the authorities to trust. Set exactly one of inline, secretRef and
// configMapRef. The server trusts only these authorities, and not those of the system.
type CABundle struct {
	// inline holds the certificates themselves, PEM-encoded: each begins with "-----BEGIN CERTIFICATE-----". An empty
	// string means the authorities of the system. Default: absent.
	// +optional
	Inline *string `json:"inline,omitempty"`

	// secretRef is the Secret, and the key in it, that holds the certificates, for example {name: hooks-ca, namespace:
	// my-namespace}.
	// Default: absent.
	// +optional
	SecretRef *ResourceKeyRef `json:"secretRef,omitempty"`

	// configMapRef is the ConfigMap, and the key in it, that holds the certificates, for example
	// {name: hooks-ca, namespace: my-namespace, key: ca.crt}. Default: absent.
	// +optional
	ConfigMapRef *ResourceKeyRef `json:"configMapRef,omitempty"`
}

// ResourceKeyRef names a key in a Secret or ConfigMap that holds certificates of authorities.
type ResourceKeyRef struct {
	// name of the Secret or ConfigMap, for example "hooks-ca".
	Name string `json:"name"`

	// namespace of the Secret or ConfigMap, for example "my-namespace".
	Namespace string `json:"namespace"`

	// key in the data of the Secret or ConfigMap. Default: ca.crt.
	// +default="ca.crt"
	// +optional
	Key *string `json:"key,omitempty"`
}

// ClientTLS refers to a client certificate and its private key, both PEM-encoded and in the same Secret.
type ClientTLS struct {
	// secretRef is the Secret that holds both, usually of type kubernetes.io/tls.
	SecretRef SecretRef `json:"secretRef"`

	// certKey is the key of the certificate in the Secret. Default: tls.crt.
	// +default="tls.crt"
	// +optional
	CertKey *string `json:"certKey,omitempty"`

	// privateKeyKey is the key of the private key in the Secret. Default: tls.key.
	// +default="tls.key"
	// +optional
	PrivateKeyKey *string `json:"privateKeyKey,omitempty"`
}

// Authorization is a credential for the Authorization header, which the server sends as "<type> <credential>".
type Authorization struct {
	// type is the scheme of the header, for example "Bearer". It cannot be "Basic"; use basicAuth for that.
	// Default: Bearer.
	// +default="Bearer"
	// +optional
	Type *string `json:"type,omitempty"`

	// secretRef is the Secret, and the key in it, that holds the credential. The server removes white space around it.
	SecretRef SecretKeyRef `json:"secretRef"`
}

// BasicAuth refers to a user name and a password, both in the same Secret. The server removes white space around them.
type BasicAuth struct {
	// secretRef is the Secret that holds both, usually of type kubernetes.io/basic-auth.
	SecretRef SecretRef `json:"secretRef"`

	// usernameKey is the key of the user name in the Secret. The user name cannot contain a colon. Default: username.
	// +default="username"
	// +optional
	UsernameKey *string `json:"usernameKey,omitempty"`

	// passwordKey is the key of the password in the Secret. Default: password.
	// +default="password"
	// +optional
	PasswordKey *string `json:"passwordKey,omitempty"`
}

// SecretRef names a Secret of the cluster.
type SecretRef struct {
	// name of the Secret, for example "hooks-credentials".
	Name string `json:"name"`

	// namespace of the Secret, for example "my-namespace".
	Namespace string `json:"namespace"`
}

// SecretKeyRef names a key in a Secret of the cluster.
type SecretKeyRef struct {
	// name of the Secret, for example "hooks-credentials".
	Name string `json:"name"`

	// namespace of the Secret, for example "my-namespace".
	Namespace string `json:"namespace"`

	// key in the data of the Secret, for example "token". There is no default.
	Key string `json:"key"`
}

// GetKey returns the key of the certificates, by default ca.crt.
func (r *ResourceKeyRef) GetKey() string { return textOr(r.Key, "ca.crt") }

// GetCertKey returns the key of the certificate, by default tls.crt.
func (c *ClientTLS) GetCertKey() string { return textOr(c.CertKey, "tls.crt") }

// GetPrivateKeyKey returns the key of the private key, by default tls.key.
func (c *ClientTLS) GetPrivateKeyKey() string { return textOr(c.PrivateKeyKey, "tls.key") }

// GetType returns the scheme of the header, by default Bearer.
func (a *Authorization) GetType() string {
	return cmp.Or(strings.TrimSpace(textOr(a.Type, "")), "Bearer")
}

// GetUsernameKey returns the key of the user name, by default username.
func (b *BasicAuth) GetUsernameKey() string { return textOr(b.UsernameKey, "username") }

// GetPasswordKey returns the key of the password, by default password.
func (b *BasicAuth) GetPasswordKey() string { return textOr(b.PasswordKey, "password") }

// textOr returns the text of a field. If the field is absent or empty, it returns the default.
func textOr(field *string, byDefault string) string { return cmp.Or(ptr.Deref(field, ""), byDefault) }

// Address returns the fields of a webhook that give its address.
func (w *Webhook) Address() hookaddress.Address {
	return hookaddress.Address{URL: w.URL, Service: (*hookaddress.Service)(w.Service), Path: w.Path}
}

// Connection holds the settings that a webhook and an entry of endpointConfigs have in common.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type Connection struct {
	CABundle      *CABundle
	ClientTLS     *ClientTLS
	Authorization *Authorization
	BasicAuth     *BasicAuth
}

// Connection returns the connection settings of a webhook.
func (w *Webhook) Connection() Connection {
	return Connection{CABundle: w.CABundle, ClientTLS: w.ClientTLS, Authorization: w.Authorization, BasicAuth: w.BasicAuth}
}

// Connection returns the connection settings of an entry of endpointConfigs.
func (e *EndpointConfig) Connection() Connection {
	return Connection{CABundle: e.CABundle, ClientTLS: e.ClientTLS, Authorization: e.Authorization, BasicAuth: e.BasicAuth}
}

// ObjectReference is a field that names a Secret or a ConfigMap, and keys in it.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type ObjectReference struct {
	Path *field.Path
	// Kind is Secret or ConfigMap.
	Kind, Name, Namespace string
	Keys                  []ObjectKey
}

// ObjectKey is a field that names a key of a Secret or a ConfigMap. The name may be empty.
// +k8s:deepcopy-gen=false
// +k8s:openapi-gen=false
type ObjectKey struct {
	Path *field.Path
	Name string
}

// References returns the Secrets and ConfigMaps that the settings are read from. Path is the field
// that holds the settings.
func (c Connection) References(path *field.Path) []ObjectReference {
	var all []ObjectReference
	if bundle := c.CABundle; bundle != nil {
		for _, source := range []struct {
			kind, field string
			ref         *ResourceKeyRef
		}{{"Secret", "secretRef", bundle.SecretRef}, {"ConfigMap", "configMapRef", bundle.ConfigMapRef}} {
			if ref := source.ref; ref != nil {
				at := path.Child("caBundle", source.field)
				all = append(all, ObjectReference{at, source.kind, ref.Name, ref.Namespace,
					[]ObjectKey{{at.Child("key"), ref.GetKey()}}})
			}
		}
	}
	if tls := c.ClientTLS; tls != nil {
		at := path.Child("clientTLS")
		all = append(all, ObjectReference{at.Child("secretRef"), "Secret", tls.SecretRef.Name, tls.SecretRef.Namespace,
			[]ObjectKey{
				{at.Child("certKey"), tls.GetCertKey()}, {at.Child("privateKeyKey"), tls.GetPrivateKeyKey()},
			}})
	}
	if authorization := c.Authorization; authorization != nil {
		at, ref := path.Child("authorization", "secretRef"), authorization.SecretRef
		all = append(all, ObjectReference{at, "Secret", ref.Name, ref.Namespace, []ObjectKey{{at.Child("key"), ref.Key}}})
	}
	if auth := c.BasicAuth; auth != nil {
		at := path.Child("basicAuth")
		all = append(all, ObjectReference{at.Child("secretRef"), "Secret", auth.SecretRef.Name, auth.SecretRef.Namespace,
			[]ObjectKey{
				{at.Child("usernameKey"), auth.GetUsernameKey()}, {at.Child("passwordKey"), auth.GetPasswordKey()},
			}})
	}
	return all
}
