// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport makes the HTTP connections of hooks. Its input is the settings of a webhook or of its endpoint
// config: certificate authorities, client certificate and credentials. Its output is a Transport, the http.RoundTripper
// of one hook, which knows nothing about the content of requests.
//
// The settings can refer to Secrets and ConfigMaps. A Transport follows these: the next call uses their new content.
// Calls share connections until the TLS settings change. No connection leads to an address that the operator denies.
//
// The package touches the network, and the Secrets and ConfigMaps of the host through Sources.
package transport
