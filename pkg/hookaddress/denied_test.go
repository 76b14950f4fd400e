// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"
)

func TestAddressesOfCloudServicesAreDenied(t *testing.T) {
	for host, want := range map[string]string{
		"169.254.169.254":             "169.254.0.0/16",
		"169.254.0.0":                 "169.254.0.0/16",
		"::ffff:169.254.169.254":      "169.254.0.0/16",
		"::ffff:a9fe:a9fe":            "169.254.0.0/16",
		"fe80::1":                     "fe80::/10",
		"FE80:0:0::1":                 "fe80::/10",
		"fe80::1%eth0":                "fe80::/10",
		"febf::1":                     "fe80::/10",
		"fd00:ec2::254":               "fd00:ec2::254/128",
		"fd00:0ec2:0::0254":           "fd00:ec2::254/128",
		"fd00:ec2::253":               "",
		"fd00:ec2::23":                "fd00:ec2::23/128",
		"100.100.100.200":             "100.100.100.200/32",
		"100.100.100.201":             "",
		"192.0.0.192":                 "192.0.0.192/32",
		"fd20:ce::254":                "fd20:ce::254/128",
		"fd20:00ce:0::0254":           "fd20:ce::254/128",
		"fd00:42::42":                 "fd00:42::42/128",
		"64:ff9b::a9fe:a9fe":          "169.254.0.0/16",
		"64:ff9b::169.254.169.254":    "169.254.0.0/16",
		"64:ff9b::6464:64c8":          "100.100.100.200/32",
		"64:ff9b:1::a9fe:a9fe":        "169.254.0.0/16",
		"64:ff9b:1:2:3::a9fe:a9fe":    "169.254.0.0/16",
		"64:ff9b::10.0.0.1":           "",
		"2002:a9fe:a9fe::":            "169.254.0.0/16",
		"2002:a9fe:a9fe:1::2":         "169.254.0.0/16",
		"2002:6464:64c8::1":           "100.100.100.200/32",
		"2002:a83f:8110::1":           "168.63.129.16/32",
		"2002:0a00:0001::a9fe:a9fe":   "",
		"::169.254.169.254":           "169.254.0.0/16",
		"::a9fe:a9fe":                 "169.254.0.0/16",
		"::6464:64c8":                 "100.100.100.200/32",
		"::ffff:0:a9fe:a9fe":          "169.254.0.0/16",
		"::ffff:100.100.100.200":      "100.100.100.200/32",
		"2001:db8::a9fe:a9fe":         "",
		"168.63.129.16":               "168.63.129.16/32",
		"::ffff:168.63.129.16":        "168.63.129.16/32",
		"0xa83f8110":                  "168.63.129.16/32",
		"168.63.129.17":               "",
		"169.253.255.255":             "",
		"169.255.0.0":                 "",
		"fec0::1":                     "",
		"127.0.0.1":                   "",
		"::1":                         "",
		"10.0.0.1":                    "",
		"hooks.default":               "",
		"169.254.169.254.example.com": "",
		"169.254.169.254.":            "169.254.0.0/16",
		"2852039166":                  "169.254.0.0/16",
		"0xa9fea9fe":                  "169.254.0.0/16",
		"0XA9.0xfe.0251.0376":         "169.254.0.0/16",
		"169.254.43518":               "169.254.0.0/16",
		"169.16689662":                "169.254.0.0/16",
		"169.16689662.":               "169.254.0.0/16",
		"１６９.254.169.254":             "169.254.0.0/16",
		"169。254。169。254":             "169.254.0.0/16",
		"169.253.43518":               "",
		"4294967296":                  "",
		"169.254.169.256":             "",
		"169.254.0.169.254":           "",
		"169.254.0b1":                 "",
		"169..254":                    "",
		"169.254.-1":                  "",
		"0x":                          "",
		"":                            "",
	} {
		err := DeniedByDefault().CheckHost(host)
		denied, ok := errors.AsType[*Error](err)
		if ok != (want != "") || ok && denied.Network.String() != want {
			t.Errorf("%s: %v, want it to be denied by %q", host, err, want)
		}
	}
}

// The name and the namespace of a Service make the host, so both together may be an address.
func TestAServiceDoesNotGetAroundDeniedNetworks(t *testing.T) {
	for _, service := range []Service{
		{Name: "169.254", Namespace: "169.254"},
		{Name: "169.254", Namespace: "169.254."},
		{Name: "169", Namespace: "16689662"},
		{Name: "0xa9", Namespace: "0xfea9fe"},
	} {
		host := Address{Service: &service, Path: ptr.To("/latest")}.Hostname()
		if DeniedByDefault().CheckHost(host) == nil {
			t.Errorf("%s is not denied", host)
		}
	}
}

func TestParse(t *testing.T) {
	denied, err := Parse([]string{"10.1.2.3/8", " fd00:ec2::254/128", "::ffff:192.0.2.0/120"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := denied.Strings(), []string{"10.0.0.0/8", "fd00:ec2::254/128", "192.0.2.0/24"}; !slices.Equal(got, want) {
		t.Errorf("parsed %q, want %q", got, want)
	}
	for _, host := range []string{"10.255.0.1", "fd00:ec2::254", "192.0.2.1", "::ffff:192.0.2.1"} {
		if denied.CheckHost(host) == nil {
			t.Errorf("%s is not denied", host)
		}
	}
	if err := denied.CheckHost("169.254.169.254"); err != nil {
		t.Errorf("the default holds beside what is given: %v", err)
	}
	for _, wrong := range []string{"", "10.0.0.1", "10.0.0.0/33", "hooks.default"} {
		if _, err := Parse([]string{"10.0.0.0/8", wrong}); err == nil || !strings.Contains(err.Error(), `"`+wrong+`"`) {
			t.Errorf("%q is parsed with %v", wrong, err)
		}
	}
	if none, err := Parse(nil); err != nil || none.CheckHost("169.254.169.254") != nil {
		t.Errorf("nothing denies something, or is an error: %v", err)
	}
}
