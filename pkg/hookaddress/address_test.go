// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"
)

func TestAddresses(t *testing.T) {
	service := Service{Name: "hooks", Namespace: "tools"}
	tests := map[string]struct {
		address Address
		want    string
	}{
		"a url": {
			address: Address{URL: ptr.To("https://hooks.example:8443/sync?a=b")},
			want:    "https://hooks.example:8443/sync?a=b",
		},
		"a url wins over service and path": {
			address: Address{URL: ptr.To("http://hooks.example"), Service: &service, Path: ptr.To("/sync")},
			want:    "http://hooks.example",
		},
		"an empty url does not": {
			address: Address{URL: ptr.To(""), Service: &service, Path: ptr.To("/sync")},
			want:    "http://hooks.tools:80/sync",
		},
		"a service is called by http at port 80": {
			address: Address{Service: &service, Path: ptr.To("/sync")},
			want:    "http://hooks.tools:80/sync",
		},
		"https too is called at port 80": {
			address: Address{
				Service: &Service{Name: "hooks", Namespace: "tools", Protocol: ptr.To("https")}, Path: ptr.To("/sync"),
			},
			want: "https://hooks.tools:80/sync",
		},
		"a protocol in capitals": {
			address: Address{
				Service: &Service{Name: "hooks", Namespace: "tools", Protocol: ptr.To("HTTPS"), Port: ptr.To[int32](8443)}, Path: ptr.To("/sync"),
			},
			want: "https://hooks.tools:8443/sync",
		},
		"no protocol is http": {
			address: Address{Service: &Service{Name: "hooks", Namespace: "tools", Protocol: ptr.To("")}, Path: ptr.To("/sync")},
			want:    "http://hooks.tools:80/sync",
		},
		"an empty path": {
			address: Address{Service: &service, Path: ptr.To("")},
			want:    "http://hooks.tools:80",
		},
		"a path is put behind as it is": {
			address: Address{
				Service: &Service{Name: "hooks", Namespace: "tools", Port: ptr.To[int32](8080)}, Path: ptr.To("/a/b?c=d"),
			},
			want: "http://hooks.tools:8080/a/b?c=d",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.address.Parse()
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != test.want {
				t.Errorf("called at %s, want %s", got, test.want)
			}
			if hostname := test.address.Hostname(); hostname != got.Hostname() {
				t.Errorf("the host is %q, want %q", hostname, got.Hostname())
			}
		})
	}
}

func TestAddressesThatCannotBeCalled(t *testing.T) {
	tests := map[string]struct {
		address Address
		want    string
	}{
		"nothing": {
			address: Address{},
			want:    "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
		},
		"a service without a path": {
			address: Address{Service: &Service{Name: "hooks", Namespace: "tools"}},
			want:    "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
		},
		"a path without a service": {
			address: Address{Path: ptr.To("/sync")},
			want:    "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'",
		},
		"a service without a name": {
			address: Address{Service: &Service{Namespace: "tools"}, Path: ptr.To("/sync")},
			want:    "invalid webhook config: 'service' must specify both 'name' and 'namespace'",
		},
		"a service without a namespace": {
			address: Address{Service: &Service{Name: "hooks"}, Path: ptr.To("/sync")},
			want:    "invalid webhook config: 'service' must specify both 'name' and 'namespace'",
		},
		"a url of another scheme":  {Address{URL: ptr.To("ftp://hooks.example/sync")}, `invalid webhook config: the scheme of the url must be http or https, not "ftp"`},
		"a url without a scheme":   {Address{URL: ptr.To("//hooks.example/sync")}, `invalid webhook config: the scheme of the url must be http or https, not ""`},
		"a url that is a path":     {Address{URL: ptr.To("/sync")}, `invalid webhook config: the scheme of the url must be http or https, not ""`},
		"a url without a host":     {Address{URL: ptr.To("http:///sync")}, "invalid webhook config: the url has no host"},
		"a url with a broken port": {Address{URL: ptr.To("http://hooks.example:eighty/sync")}, `invalid webhook config: url: invalid port ":eighty" after host`},
		"a url that is none":       {Address{URL: ptr.To("http://hooks.example/%zz")}, `invalid webhook config: url: invalid URL escape "%zz"`},
		"a protocol that is none": {
			address: Address{Service: &Service{Name: "hooks", Namespace: "tools", Protocol: ptr.To("tcp")}, Path: ptr.To("/sync")},
			want:    `invalid webhook config: the scheme of the url must be http or https, not "tcp"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			called, err := test.address.Parse()
			if err == nil {
				t.Fatalf("it would be called at %s", called)
			}
			if err.Error() != test.want {
				t.Errorf("error is\n%s\nwant\n%s", err, test.want)
			}
		})
	}
}

func TestPasswordsInAURLAreNotInErrors(t *testing.T) {
	for name, url := range map[string]string{
		"a broken escape in the query": "http://hooks.example/sync\x7f?key=s3cret",
		"a broken port before a query": "http://hooks.example:eighty?key=s3cret",
		"a broken port":                "http://user:s3cret@hooks.example:eighty/sync",
		"a broken host":                "http://user:s3cret@hooks example/sync",
		"a broken escape":              "http://user:s3cret%zz@hooks.example/sync",
		"a slash in the password":      "http://user:s3cret/x@hooks.example/sync",
		"a question mark in it":        "http://user:s3cret?x@hooks.example:a/sync",
		"another scheme":               "ftp://user:s3cret@hooks.example/sync",
		"a scheme that was forgotten":  "user:s3cret@hooks.example/sync",
		"slashes that were forgotten":  "http:user:s3cret@hooks.example/sync",
		"a host that was forgotten":    "http://user:s3cret@/sync",
		"a control character":          "http://user:s3cret@hooks.example/\x7f",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Address{URL: &url}.Parse()
			if err == nil {
				t.Fatal("it was accepted")
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error tells the password: %v", err)
			}
			if shown := RedactText(url); strings.Contains(shown, "s3cret") {
				t.Errorf("the password is shown: %s", shown)
			}
		})
	}
}

func TestRawAddresses(t *testing.T) {
	for name, test := range map[string]struct {
		address  Address
		want     string
		hostname string
	}{
		"none":                                  {Address{}, "", ""},
		"an empty url":                          {Address{URL: ptr.To("")}, "", ""},
		"a path without a service":              {Address{Path: ptr.To("/sync")}, "", ""},
		"a service without a path":              {Address{Service: &Service{Name: "hooks", Namespace: "tools"}}, "http://hooks.tools:80", "hooks.tools"},
		"a url with secrets, as it is":          {Address{URL: ptr.To("HTTP://user:s3cret@Hooks/?key=s3cret")}, "HTTP://user:s3cret@Hooks/?key=s3cret", "Hooks"},
		"a url that cannot be parsed, as it is": {Address{URL: ptr.To("http://hooks.example:eighty")}, "http://hooks.example:eighty", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.address.Raw(); got != test.want {
				t.Errorf("the address is %q, want %q", got, test.want)
			}
			if got := test.address.Hostname(); got != test.hostname {
				t.Errorf("the host is %q, want %q", got, test.hostname)
			}
		})
	}
}

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

// A name of two parts may be a public one.
func TestAServiceIsDialedByANameOfTheClusterAlone(t *testing.T) {
	hooksIn := func(namespace string) Address {
		return Address{Service: &Service{Name: "hooks", Namespace: namespace}, Path: ptr.To("/")}
	}
	for name, test := range map[string]struct {
		address Address
		want    string
	}{
		"a service":                   {hooksIn("dev"), "hooks.dev.svc"},
		"a namespace with svc":        {hooksIn("dev.svc"), "hooks.dev.svc"},
		"a namespace with the domain": {hooksIn("dev.svc.cluster.local"), "hooks.dev.svc.cluster.local"},
		"a name that ends in a dot":   {hooksIn("dev."), "hooks.dev.svc"},
		"a url":                       {Address{URL: ptr.To("http://hooks.dev/")}, "hooks.dev"},
		"a url beside a service": {
			Address{URL: ptr.To("http://hooks.dev/"), Service: hooksIn("b").Service}, "hooks.dev",
		},
	} {
		if got := test.address.DialedHost(); got != test.want {
			t.Errorf("%s: %q is dialed, want %q", name, got, test.want)
		}
	}
}

func TestCASources(t *testing.T) {
	type ref struct{}
	for name, test := range map[string]struct {
		inline            *string
		secret, configMap *ref
		want              []string
	}{
		"none":                        {nil, nil, nil, nil},
		"an empty text counts as set": {ptr.To(""), nil, nil, []string{"inline"}},
		"a Secret":                    {nil, &ref{}, nil, []string{"secretRef"}},
		"a ConfigMap":                 {nil, nil, &ref{}, []string{"configMapRef"}},
		"all":                         {ptr.To("pem"), &ref{}, &ref{}, []string{"inline", "secretRef", "configMapRef"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CASources(test.inline, test.secret, test.configMap); !slices.Equal(got, test.want) {
				t.Errorf("sources are %q, want %q", got, test.want)
			}
		})
	}
}

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
