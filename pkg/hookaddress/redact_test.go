// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"net/url"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	for name, test := range map[string]struct{ url, want string }{
		"all of one without secrets":       {"https://hooks.example:8443/sync", "https://hooks.example:8443/sync"},
		"no password":                      {"http://user:s3cret@hooks.example/sync", "http://xxxxx@hooks.example/sync"},
		"no user name, which may be a key": {"http://s3cret@hooks.example/sync", "http://xxxxx@hooks.example/sync"},
		"no query":                         {"http://hooks.example/sync?key=s3cret&s3cret", "http://hooks.example/sync?xxxxx"},
		"neither of them":                  {"http://user:s3cret@hooks.example/?key=s3cret#s3cret", "http://xxxxx@hooks.example/?xxxxx"},
		"no question mark without a query": {"http://hooks.example/sync?", "http://hooks.example/sync"},
		"no fragment":                      {"http://hooks.example/sync#s3cret", "http://hooks.example/sync"},
		"escapes as they are":              {"http://hooks.example/a%2Fb", "http://hooks.example/a%2Fb"},
	} {
		t.Run(name, func(t *testing.T) {
			address, err := url.Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			if shown := Redact(address); shown != test.want {
				t.Errorf("shown is %s, want %s", shown, test.want)
			}
			if text := strings.TrimSuffix(RedactText(test.url), "?xxxxx"); text != strings.TrimSuffix(test.want, "?xxxxx") {
				t.Errorf("shown of the text is %s, want %s", text, test.want)
			}
			if address.String() != test.url {
				t.Errorf("the URL has become %s", address)
			}
		})
	}
}

func TestWithoutSecrets(t *testing.T) {
	address, err := url.Parse("https://user:s3cret@hooks.example:8443/a%2Fb?key=s3cret#s3cret")
	if err != nil {
		t.Fatal(err)
	}
	if shown := WithoutSecrets(address); shown != "https://hooks.example:8443/a%2Fb" {
		t.Errorf("shown is %s", shown)
	}
}

func TestRedactText(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":                      {"", ""},
		"no URL":                       {"hooks.example/sync", "hooks.example/sync"},
		"a query":                      {"hooks.example/sync?key=s3cret", "hooks.example/sync?xxxxx"},
		"an at sign in the query":      {"http://hooks.example:0/sync?mail=me@example.com", "http://hooks.example:0/sync?xxxxx"},
		"a fragment":                   {"ftp://hooks.example/sync#s3cret", "ftp://hooks.example/sync"},
		"a password":                   {"ftp://user:s3cret@hooks.example/sync", "ftp://xxxxx@hooks.example/sync"},
		"a password without a scheme":  {"user:s3cret@hooks.example/sync", "xxxxx@hooks.example/sync"},
		"a slash in the password":      {"http://user:s3/cret@hooks.example/sync", "http://xxxxx@hooks.example/sync"},
		"a question mark in it":        {"http://user:s3?cret@hooks.example/sync", "http://xxxxx@hooks.example/sync"},
		"a question mark, as a port":   {"http://user:pa?ss@host/", "http://xxxxx@host/"},
		"a question mark, and a query": {"http://user:s3?cret@hooks.example/sync?key=s3cret", "http://xxxxx@hooks.example/sync?xxxxx"},
		"a hash sign in it":            {"http://user:s3#cret@hooks.example/sync", "http://xxxxx@hooks.example/sync"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := RedactText(test.text); got != test.want {
				t.Errorf("shown is %s, want %s", got, test.want)
			}
		})
	}
}
