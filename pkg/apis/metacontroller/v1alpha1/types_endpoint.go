// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// EndpointConfig holds the connection settings for all webhooks of a controller at one host.
type EndpointConfig struct {
	// host is the host name of the webhooks, with or without a port, for instance "my-hooks.my-namespace" or
	// "my-hooks.my-namespace:8443". Case does not matter. Without a port it matches only URLs that use the default port of
	// their scheme (80 for http, 443 for https).
	Host string `json:"host"`

	// caBundle holds the certificate authorities that the serving certificate is verified with, for instance
	// {configMapRef: {name: hooks-ca, namespace: my-namespace}}.
	// Default: absent, those of the system the server runs on.
	// +optional
	CABundle *CABundle `json:"caBundle,omitempty"`

	// clientTLS is the client certificate to present (mutual TLS), for instance
	// {secretRef: {name: metacontroller-client, namespace: my-namespace}}.
	// Default: absent, none.
	// +optional
	ClientTLS *ClientTLS `json:"clientTLS,omitempty"`

	// authorization is the credential to send in the Authorization header, for instance
	// {secretRef: {name: hooks-token, namespace: my-namespace, key: token}}. It cannot be combined with basicAuth.
	// Default: absent, none.
	// +optional
	Authorization *Authorization `json:"authorization,omitempty"`

	// basicAuth is the user name and password to send in the Authorization header, for instance
	// {secretRef: {name: hooks-user, namespace: my-namespace}}. It cannot be combined with authorization.
	// Default: absent, none.
	// +optional
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
}

// CABundle says where to find the PEM-encoded certificates of the authorities to trust. Exactly one of inline, secretRef and
// configMapRef is set. They are trusted instead of, not besides, the authorities of the system.
type CABundle struct {
	// inline is the certificates themselves, PEM-encoded: each begins with "-----BEGIN CERTIFICATE-----". An empty text stands for the
	// authorities of the system. Default: absent.
	// +optional
	Inline *string `json:"inline,omitempty"`

	// secretRef is the Secret, and the key in it, that holds the certificates, for instance {name: hooks-ca, namespace: my-namespace}.
	// Default: absent.
	// +optional
	SecretRef *ResourceKeyRef `json:"secretRef,omitempty"`

	// configMapRef is the ConfigMap, and the key in it, that holds the certificates, for instance
	// {name: hooks-ca, namespace: my-namespace, key: ca.crt}. Default: absent.
	// +optional
	ConfigMapRef *ResourceKeyRef `json:"configMapRef,omitempty"`
}

// ResourceKeyRef names a key in a Secret or ConfigMap that holds certificates of authorities.
type ResourceKeyRef struct {
	// name of the Secret or ConfigMap, for instance "hooks-ca".
	Name string `json:"name"`

	// namespace of the Secret or ConfigMap, for instance "my-namespace".
	Namespace string `json:"namespace"`

	// key in the data of the Secret or ConfigMap. Default: ca.crt.
	// +default="ca.crt"
	// +optional
	Key string `json:"key,omitempty"`
}

// ClientTLS says where to find a client certificate and its private key, both PEM-encoded and in the same Secret.
type ClientTLS struct {
	// secretRef is the Secret that holds both, usually of type kubernetes.io/tls.
	SecretRef SecretRef `json:"secretRef"`

	// certKey is the key of the certificate in the Secret. Default: tls.crt.
	// +default="tls.crt"
	// +optional
	CertKey string `json:"certKey,omitempty"`

	// privateKeyKey is the key of the private key in the Secret. Default: tls.key.
	// +default="tls.key"
	// +optional
	PrivateKeyKey string `json:"privateKeyKey,omitempty"`
}

// Authorization is a credential for the Authorization header, which is sent as "<type> <credential>".
type Authorization struct {
	// type is the scheme of the header, for instance "Bearer". It cannot be "Basic"; use basicAuth for that.
	// Default: Bearer.
	// +default="Bearer"
	// +optional
	Type string `json:"type,omitempty"`

	// secretRef is the Secret, and the key in it, that holds the credential. White space around it is removed.
	SecretRef SecretKeyRef `json:"secretRef"`
}

// BasicAuth says where to find a user name and a password, both in the same Secret. White space around them is removed.
type BasicAuth struct {
	// secretRef is the Secret that holds both, usually of type kubernetes.io/basic-auth.
	SecretRef SecretRef `json:"secretRef"`

	// usernameKey is the key of the user name in the Secret. The user name cannot contain a colon. Default: username.
	// +default="username"
	// +optional
	UsernameKey string `json:"usernameKey,omitempty"`

	// passwordKey is the key of the password in the Secret. Default: password.
	// +default="password"
	// +optional
	PasswordKey string `json:"passwordKey,omitempty"`
}

// SecretRef names a Secret of the cluster.
type SecretRef struct {
	// name of the Secret, for instance "hooks-credentials".
	Name string `json:"name"`

	// namespace of the Secret, for instance "my-namespace".
	Namespace string `json:"namespace"`
}

// SecretKeyRef names a key in a Secret of the cluster.
type SecretKeyRef struct {
	// name of the Secret, for instance "hooks-credentials".
	Name string `json:"name"`

	// namespace of the Secret, for instance "my-namespace".
	Namespace string `json:"namespace"`

	// key in the data of the Secret, for instance "token". There is no default.
	Key string `json:"key"`
}
