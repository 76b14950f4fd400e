// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"fmt"
	"net/netip"
	"strings"
)

// Denied are networks that hooks may not be in.
type Denied []netip.Prefix

// LinkLocal returns the networks of link-local addresses. Clouds have services there that hand out
// credentials to every process of a machine.
func LinkLocal() Denied {
	return Denied{netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10")}
}

// Parse reads networks in CIDR notation, for instance "10.0.0.0/8". The error names the text that
// is not one.
func Parse(cidrs []string) (Denied, error) {
	denied := Denied{}
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(cidr))
		if err != nil {
			return nil, fmt.Errorf("%q is no network such as 169.254.0.0/16, fe80::/10, or 192.0.2.1/32 for one address", cidr)
		}
		if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		denied = append(denied, prefix.Masked())
	}
	return denied, nil
}

// Strings returns the networks in CIDR notation.
func (d Denied) Strings() []string {
	cidrs := make([]string, len(d))
	for i, prefix := range d {
		cidrs[i] = prefix.String()
	}
	return cidrs
}

// Error is the error of a hook whose address is denied.
type Error struct {
	Address netip.Addr
	// Network is the denied network that the address is in.
	Network netip.Prefix
}

func (e *Error) Error() string {
	return fmt.Sprintf("hooks must not have the address %s: the server denies %s (--hook-deny-cidrs)", e.Address, e.Network)
}

// Check returns an *Error if the address is denied. An IPv4 address may be written as an IPv6 one,
// and a zone is ignored.
func (d Denied) Check(address netip.Addr) error {
	plain := address.Unmap().WithZone("")
	for _, prefix := range d {
		if prefix.Contains(plain) {
			return &Error{Address: address, Network: prefix}
		}
	}
	return nil
}

// CheckHost returns an *Error if the host of a URL is an address that is denied. Names pass: their
// addresses have to be checked when they are resolved.
func (d Denied) CheckHost(host string) error {
	address, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	return d.Check(address)
}
