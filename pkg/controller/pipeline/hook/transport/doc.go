// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport makes the HTTP connections of hooks. In come the settings of a webhook or of
// its endpoint config: certificate authorities, client certificate and credentials. Out comes a
// Transport, the http.RoundTripper of one hook, which knows nothing of what is sent.
//
// The settings can refer to Secrets and ConfigMaps, which a Transport follows: the next call uses
// their new content. Calls share connections until the TLS settings change. No connection leads to
// an address that the operator denies.
//
// The package touches the network, and the Secrets and ConfigMaps of the host through Sources.
package transport
