// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hookaddress says which addresses hooks may not have.
package hookaddress

import (
	"fmt"
	"net/netip"
	"strings"
)

// Denied are networks that hooks may not be in.
type Denied []netip.Prefix

// LinkLocal are the addresses that mean another machine on every network. Clouds have services there that hand out
// credentials to whoever asks from the machine.
func LinkLocal() Denied {
	return Denied{netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10")}
}

// Parse reads networks in CIDR notation, for instance "10.0.0.0/8". The error says which is none.
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

// Strings are the networks as Parse reads them.
func (d Denied) Strings() []string {
	cidrs := make([]string, len(d))
	for i, prefix := range d {
		cidrs[i] = prefix.String()
	}
	return cidrs
}

// Error tells that a hook has an address that is denied.
type Error struct {
	Address netip.Addr
	// Network is the one of those denied that the address is in.
	Network netip.Prefix
}

func (e *Error) Error() string {
	return fmt.Sprintf("hooks must not have the address %s: the server denies %s (--hook-deny-cidrs)", e.Address, e.Network)
}

// Check returns an *Error if the address is denied, however it is written.
func (d Denied) Check(address netip.Addr) error {
	plain := address.Unmap().WithZone("")
	for _, prefix := range d {
		if prefix.Contains(plain) {
			return &Error{Address: address, Network: prefix}
		}
	}
	return nil
}

// CheckHost returns an *Error if the host of a URL is an address that is denied. A name is none: what it stands for is known
// when it is resolved.
func (d Denied) CheckHost(host string) error {
	address, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	return d.Check(address)
}
