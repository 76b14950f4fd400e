// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"net"
	"net/url"
	"strings"
)

// MatchesHost reports whether a host, with or without a port, is that of a URL. Case does not
// matter, and the default port of the URL's scheme may be left out on either side.
func MatchesHost(host string, address *url.URL) bool {
	if strings.EqualFold(host, address.Host) {
		return true
	}
	defaultPort := "80"
	if address.Scheme == "https" {
		defaultPort = "443"
	}
	switch name := address.Hostname(); address.Port() {
	case "":
		return strings.EqualFold(host, net.JoinHostPort(name, defaultPort))
	case defaultPort:
		return strings.EqualFold(host, name) || strings.EqualFold(host+":"+defaultPort, address.Host)
	}
	return false
}
