// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

// EndpointConfig holds the connection settings for all webhooks of a controller at one host.
type EndpointConfig struct {
	Host          string
	CABundle      *CABundle
	ClientTLS     *ClientTLS
	Authorization *Authorization
	BasicAuth     *BasicAuth
}

// CABundle says where to find the PEM-encoded certificates of the authorities to trust. Exactly one
// of inline, secretRef and configMapRef is set. They are trusted instead of, not besides, the
// authorities of the system.
type CABundle struct {
	Inline       *string
	SecretRef    *ResourceKeyRef
	ConfigMapRef *ResourceKeyRef
}

// ResourceKeyRef names a key in a Secret or ConfigMap that holds certificates of authorities.
type ResourceKeyRef struct {
	Name      string
	Namespace string
	Key       string
}

// ClientTLS says where to find a client certificate and its private key, both PEM-encoded and in
// the same Secret.
type ClientTLS struct {
	SecretRef     SecretRef
	CertKey       string
	PrivateKeyKey string
}

// Authorization is a credential for the Authorization header, which is sent as "<type>
// <credential>".
type Authorization struct {
	Type      string
	SecretRef SecretKeyRef
}

// BasicAuth says where to find a user name and a password, both in the same Secret. White space
// around them is removed.
type BasicAuth struct {
	SecretRef   SecretRef
	UsernameKey string
	PasswordKey string
}

// SecretRef names a Secret of the host cluster.
type SecretRef struct {
	Name      string
	Namespace string
}

// SecretKeyRef names a key in a Secret of the host cluster.
type SecretKeyRef struct {
	Name      string
	Namespace string
	Key       string
}
