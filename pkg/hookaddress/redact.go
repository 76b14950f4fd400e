// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"net/url"
	"strings"
)

// Blank stands for what is not shown.
const Blank = "xxxxx"

// WithoutSecrets returns the text of a URL without user name, password, query and fragment, any of
// which may be a secret.
func WithoutSecrets(address *url.URL) string {
	stripped := *address
	stripped.User, stripped.RawQuery, stripped.ForceQuery, stripped.Fragment, stripped.RawFragment = nil, "", false, "", ""
	return stripped.String()
}

// Redact returns a URL as logs, errors and metrics may show it: without secrets, and with "xxxxx"
// in the place of user name and password, and of the query.
func Redact(address *url.URL) string {
	text := WithoutSecrets(address)
	if address.User != nil {
		text = strings.Replace(text, "://", "://"+Blank+"@", 1)
	}
	if address.RawQuery != "" {
		text += "?" + Blank
	}
	return text
}

// RedactText is Redact for a text that need not be a URL. It changes nothing else in the text.
func RedactText(text string) string {
	beforeQuery, _, _ := strings.Cut(text, "?")
	if _, err := url.Parse(text); err != nil {
		beforeQuery = text // The question mark may be one of the password.
	}
	if at := strings.LastIndex(beforeQuery, "@"); at >= 0 {
		scheme, _, found := strings.Cut(text[:at], "://")
		if found {
			scheme += "://"
		} else {
			scheme = ""
		}
		text = scheme + Blank + text[at:]
	}
	text, _, _ = strings.Cut(text, "#")
	if before, _, found := strings.Cut(text, "?"); found {
		text = before + "?" + Blank
	}
	return text
}
