// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// Denied lists networks in which the server calls no hooks.
type Denied []netip.Prefix

// DeniedByDefault returns the networks where clouds hand out the credentials of a machine or of a Pod to
// every process on it: those of link-local addresses, and the addresses elsewhere.
func DeniedByDefault() Denied {
	var denied Denied
	for _, network := range []string{
		"169.254.0.0/16", "fe80::/10",
		"fd00:ec2::254/128", "fd00:ec2::23/128", // EC2 over IPv6, and its Pod identities
		"168.63.129.16/32",   // the host of a machine of Azure
		"100.100.100.200/32", // Alibaba
		"192.0.0.192/32",     // Oracle
		"fd20:ce::254/128",   // Google over IPv6
		"fd00:42::42/128",    // Scaleway over IPv6
	} {
		denied = append(denied, netip.MustParsePrefix(network))
	}
	return denied
}

// Parse reads networks in CIDR notation, for example "10.0.0.0/8". The error names the text that
// is not one.
func Parse(cidrs []string) (Denied, error) {
	denied := Denied{}
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(cidr))
		if err != nil {
			return nil, fmt.Errorf("%q is not a network in CIDR notation, such as 169.254.0.0/16, fe80::/10, or 192.0.2.1/32 "+
				"for a single address", cidr)
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
	return fmt.Sprintf("hooks must not have the address %s: the server denies %s (--hook-deny-cidrs)", e.Address,
		e.Network)
}

// Check returns an *Error if the address is denied, or leads to an IPv4 address that is denied. A zone is
// ignored.
func (d Denied) Check(address netip.Addr) error {
	plain := address.Unmap().WithZone("")
	within := embeddedIPv4(plain)
	for _, prefix := range d {
		if prefix.Contains(plain) || within.IsValid() && prefix.Contains(within) {
			return &Error{Address: address, Network: prefix}
		}
	}
	return nil
}

// embedding is a network of IPv6 addresses that contain an IPv4 address. Gateways translate or tunnel packets to it.
type embedding struct {
	network netip.Prefix
	// at is the index of the first byte of the IPv4 address.
	at int
}

// embeddings returns the forms in which a gateway may reach an IPv4 address.
func embeddings() []embedding {
	return []embedding{
		{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64
		{netip.MustParsePrefix("64:ff9b:1::/48"), 12},  // NAT64 of a local network
		{netip.MustParsePrefix("2002::/16"), 2},        // 6to4
		{netip.MustParsePrefix("::/96"), 12},           // "IPv4-compatible"
		{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // SIIT
	}
}

// embeddedIPv4 returns the IPv4 address to which an IPv6 address leads; it is not valid if there is none.
func embeddedIPv4(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return netip.Addr{}
	}
	bytes := address.As16()
	for _, form := range embeddings() {
		if form.network.Contains(address) {
			return netip.AddrFrom4([4]byte(bytes[form.at : form.at+4]))
		}
	}
	return netip.Addr{}
}

// CheckHost returns an *Error if the host of a URL is an address that is denied. Names pass: their
// addresses have to be checked when they are resolved.
func (d Denied) CheckHost(host string) error {
	// What connects to the host may write it in ASCII before: "。" is a dot, and there are other
	// digits.
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	host = strings.TrimSuffix(host, ".")
	address, err := netip.ParseAddr(host)
	if err != nil {
		numeric, ok := parseNumbers(host)
		if !ok {
			return nil
		}
		address = numeric
	}
	return d.Check(address)
}

// parseNumbers reads the forms of IPv4 addresses that C libraries accept, and with them some
// proxies, which resolve the host themselves: one to four numbers, decimal, octal or hexadecimal.
// The last number fills the bytes that are left, as in "169.16689662".
func parseNumbers(host string) (netip.Addr, bool) {
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var whole uint64
	for i, part := range parts {
		digits, base := strings.ToLower(part), 10
		if hex, ok := strings.CutPrefix(digits, "0x"); ok {
			digits, base = hex, 16
		} else if len(digits) > 1 && digits[0] == '0' {
			base = 8
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		number, err := strconv.ParseUint(digits, base, bits)
		if err != nil {
			return netip.Addr{}, false
		}
		whole = whole<<bits | number
	}
	return netip.AddrFrom4([4]byte{byte(whole >> 24), byte(whole >> 16), byte(whole >> 8), byte(whole)}), true
}
