// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/x509"
	"slices"
	"time"
)

// overlap is the time for which a former authority is trusted after another one has begun to sign, or has come: much
// longer than replicas and the host need to see that, and shorter than anyone wants to trust a key that was
// replaced.
const overlap = 24 * time.Hour

// announcement is the time for which a new authority is trusted before it signs what is served: longer than the host
// and replicas need to see that.
const announcement = 10 * time.Minute

// situation is all that decides about the certificates in a Secret, and about the one that is served.
type situation struct {
	// stored is the content of the Secret; nil if there is none, or none that can be used.
	stored *content
	// held is the content that this process serves. It is provisional if it was never in the Secret.
	held          *content
	isProvisional bool

	who subjects
	now time.Time
}

// next returns the content that the Secret should have, and the reason why its content differs.
//
// The content that a running server holds survives the loss of its Secret. If the Secret has another authority, for
// example after a restore, the server uses that one, and trusts its former one for a while.
func (s situation) next() (_ *content, reason string, err error) {
	var wanted content
	switch {
	case s.stored != nil:
		wanted = *s.stored
	case s.held != nil:
		wanted, reason = *s.held, "the current one cannot be used"
	default:
		reason = "there is none"
	}
	if wanted.since.After(s.now.Add(clockSkew)) {
		wanted.since, reason = s.now.Truncate(time.Second), "its time is in the future"
	}
	switch {
	case wanted.authority == nil, s.now.After(wanted.authority.cert.NotAfter), s.now.Before(wanted.authority.cert.NotBefore):
		if reason == "" {
			reason = "its authority is not valid now"
		}
		if wanted.authority, err = newAuthority(s.now); err != nil {
			return nil, "", err
		}
		wanted.since, wanted.former = s.now.Truncate(time.Second), nil
	case s.now.After(renewAt(wanted.authority.cert)):
		reason = "two thirds of the lifetime of its authority have passed"
		wanted.former = wanted.authorities()
		if wanted.authority, err = newAuthority(s.now); err != nil {
			return nil, "", err
		}
		wanted.since = s.now.Truncate(time.Second)
	}
	if missing := s.authoritiesInUse(wanted); len(missing) > 0 {
		reason = "its authority differs from the one in use, which stays trusted for a while"
		wanted.former = slices.Concat(wanted.former, missing)
		wanted.serving = s.held.serving
		wanted.since = s.now.Truncate(time.Second)
	}
	if kept := s.stillTrusted(wanted); len(kept) != len(wanted.former) {
		reason = "an authority is no longer needed"
		wanted.former = kept
	}
	if why := s.unfit(wanted); why != "" {
		reason = why
		if len(wanted.former) > 0 {
			// Replicas still serve what a former authority signed.
			wanted.since = s.now.Truncate(time.Second)
		}
		if wanted.serving, err = wanted.authority.issue(s.who, s.now); err != nil {
			return nil, "", err
		}
	}
	if wanted.equals(s.stored) {
		return s.stored, "", nil
	}
	return &wanted, reason, nil
}

// authoritiesInUse returns the authorities that signed the served certificate, or are announced, and that are not in
// the wanted content. There are two if the Secret is replaced while an authority is announced.
func (s situation) authoritiesInUse(wanted content) []*x509.Certificate {
	if s.held == nil || s.isProvisional {
		return nil
	}
	var missing []*x509.Certificate
	for _, authority := range s.held.authorities() {
		isInUse := authority == s.held.authority.cert || s.held.serving.isBy(authority)
		isValid := s.now.Before(authority.NotAfter) && !s.now.Before(authority.NotBefore)
		if isInUse && isValid && !contains(wanted.authorities(), authority) {
			missing = append(missing, authority)
		}
	}
	return missing
}

// unfit returns why the serving certificate has to be replaced, or "" if it need not be. While an authority is
// announced, the server continues to serve a certificate of the former ones, though not until it expires.
func (s situation) unfit(wanted content) string {
	issuers := []*x509.Certificate{wanted.authority.cert}
	if s.now.Before(wanted.since.Add(announcement)) {
		issuers = wanted.authorities()
	}
	return wanted.serving.unfit(issuers, s.who, s.now)
}

// stillTrusted returns the former authorities that are not yet to be forgotten.
func (s situation) stillTrusted(wanted content) []*x509.Certificate {
	signs := wanted.serving != nil && wanted.serving.isBy(wanted.authority.cert)
	if signs && s.now.After(wanted.since.Add(overlap)) {
		return nil
	}
	var kept []*x509.Certificate
	for _, former := range wanted.former {
		if s.now.Before(former.NotAfter) {
			kept = append(kept, former)
		}
	}
	return kept
}

// canWait reports whether the server can continue to serve its certificate while the host does not trust the next
// content.
func (s situation) canWait() bool {
	return !s.isProvisional && s.now.Before(s.held.serving.cert.NotAfter)
}

// renewAt returns the time when two thirds of the life of a certificate have passed.
func renewAt(cert *x509.Certificate) time.Time {
	return cert.NotBefore.Add(cert.NotAfter.Sub(cert.NotBefore) * 2 / 3)
}

func contains(certs []*x509.Certificate, cert *x509.Certificate) bool {
	return slices.ContainsFunc(certs, cert.Equal)
}
