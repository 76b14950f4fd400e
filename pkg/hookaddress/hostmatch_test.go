// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"net/url"
	"testing"
)

func TestMatchesHost(t *testing.T) {
	tests := map[string]struct {
		host, url string
		want      bool
	}{
		"the same host":                                   {"hooks.example", "https://hooks.example/sync", true},
		"the same host by http":                           {"hooks.example", "http://hooks.example/sync", true},
		"another host":                                    {"hooks.example", "https://other.example/sync", false},
		"a part of a host":                                {"hooks.example", "https://my.hooks.example/sync", false},
		"another case":                                    {"HOOKS.Example", "https://hooks.EXAMPLE/sync", true},
		"another case, and a default port":                {"HOOKS.Example:443", "https://hooks.EXAMPLE/sync", true},
		"another case, and a default port in the URL":     {"HOOKS.Example", "https://hooks.EXAMPLE:443/sync", true},
		"the same port":                                   {"hooks.example:8443", "https://hooks.example:8443/sync", true},
		"another port":                                    {"hooks.example:8443", "https://hooks.example:8444/sync", false},
		"a port that is not the default, left out":        {"hooks.example", "https://hooks.example:8443/sync", false},
		"a port the URL does not have":                    {"hooks.example:8443", "https://hooks.example/sync", false},
		"the default port of https, left out in the URL":  {"hooks.example:443", "https://hooks.example/sync", true},
		"the default port of http, left out in the URL":   {"hooks.example:80", "http://hooks.example/sync", true},
		"the default port of https, left out in the host": {"hooks.example", "https://hooks.example:443/sync", true},
		"the default port of http, left out in the host":  {"hooks.example", "http://hooks.example:80/sync", true},
		"the default port of http, by https":              {"hooks.example:80", "https://hooks.example/sync", false},
		"the default port of http in the URL, by https":   {"hooks.example", "https://hooks.example:80/sync", false},
		"the default port of https in the URL, by http":   {"hooks.example", "http://hooks.example:443/sync", false},
		"a scheme in capitals":                            {"hooks.example:443", "HTTPS://hooks.example/sync", true},
		"a user in the URL":                               {"hooks.example", "https://user:word@hooks.example/sync", true},
		"an IPv6 address":                                 {"[::1]:8443", "https://[::1]:8443/sync", true},
		"an IPv6 address and a default port":              {"[::1]:443", "https://[::1]/sync", true},
		"an IPv6 address and a default port in the URL":   {"[::1]", "https://[::1]:443/sync", true},
		"an IPv6 address without brackets":                {"::1", "https://[::1]:443/sync", true},
		"a URL instead of a host":                         {"https://hooks.example", "https://hooks.example/sync", false},
		"a host with the beginning of the URL's path":     {"hooks.example/sync", "https://hooks.example/sync", false},
		"nothing":                      {"", "https://hooks.example/sync", false},
		"nothing but the default port": {":443", "https://hooks.example/sync", false},
		"nothing but the default port, which the URL has": {":443", "https://hooks.example:443/sync", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			target, err := url.Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			if got := MatchesHost(test.host, target); got != test.want {
				t.Errorf("host %s matches %s: %v, want %v", test.host, test.url, got, test.want)
			}
		})
	}
}
