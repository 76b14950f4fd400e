// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookaddress

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Address is the address of a webhook in the spec of a controller: either a URL, or a Service and a path. If the URL
// is set, the Service and the path are ignored. An empty URL counts as not set.
type Address struct {
	URL     *string
	Service *Service
	Path    *string
}

// Service names a Service of the host cluster. It has the fields of both ServiceReference types, internal and public,
// so Go can convert both to it.
type Service struct {
	Name      string
	Namespace string
	Port      *int32
	Protocol  *string
}

// HasURL reports whether the webhook is called at its url.
func (a Address) HasURL() bool { return a.URL != nil && *a.URL != "" }

// Raw returns the URL that the webhook is called at as it is written, with the secrets in it. It
// returns "" if the webhook has neither a url nor a service. The URL need not be valid.
func (a Address) Raw() string {
	switch {
	case a.HasURL():
		return *a.URL
	case a.Service == nil:
		return ""
	}
	protocol, port, path := "http", int32(80), ""
	if a.Service.Protocol != nil && *a.Service.Protocol != "" {
		protocol = *a.Service.Protocol
	}
	if a.Service.Port != nil {
		port = *a.Service.Port
	}
	if a.Path != nil {
		path = *a.Path
	}
	return fmt.Sprintf("%s://%s.%s:%d%s", protocol, a.Service.Name, a.Service.Namespace, port, path)
}

// Parse returns the URL that the webhook is called at. The error says why it cannot be called, and
// does not contain the URL, which may have a password in it.
func (a Address) Parse() (*url.URL, error) {
	if !a.HasURL() {
		if a.Service == nil || a.Path == nil {
			return nil, errors.New("invalid webhook config: must specify either a full 'url', or both 'service' and 'path'")
		}
		if a.Service.Name == "" || a.Service.Namespace == "" {
			return nil, errors.New("invalid webhook config: 'service' must specify both 'name' and 'namespace'")
		}
	}
	text := a.Raw()
	parsed, err := url.Parse(text)
	switch wrapped, ok := errors.AsType[*url.Error](err); {
	case err != nil && strings.Contains(text, "@"):
		return nil, errors.New("invalid webhook config: the url cannot be parsed; percent-encode special characters in " +
			"its user name and password")
	case ok:
		return nil, fmt.Errorf("invalid webhook config: url: %w", wrapped.Err)
	case err != nil:
		return nil, fmt.Errorf("invalid webhook config: url: %w", err)
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, fmt.Errorf("invalid webhook config: the scheme of the url must be http or https, not %q", parsed.Scheme)
	case parsed.Host == "":
		return nil, errors.New("invalid webhook config: the url has no host")
	}
	return parsed, nil
}

// Hostname returns the host of the URL without the port. It returns "" if there is none, or if the
// URL cannot be parsed.
func (a Address) Hostname() string {
	parsed, err := url.Parse(a.Raw())
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

// DialedHost returns the host that is looked up and connected to. For a service, it is "<name>.<namespace>.svc",
// which no public name ends in: a Service that does not exist, or not yet, must not be looked up elsewhere.
// The URL keeps the host without the end.
func (a Address) DialedHost() string {
	host := a.Hostname()
	if a.HasURL() || a.Service == nil || host == "" {
		return host
	}
	if within := strings.TrimSuffix(host, ".") + "."; strings.Contains(within, ".svc.") {
		return host // the namespace is written with it
	}
	return strings.TrimSuffix(host, ".") + ".svc"
}

// MatchesHost reports whether a host, with or without a port, is the host of a URL. Case does not matter, and the
// default port of the URL's scheme may be left out on either side.
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

// CASources returns the names of those fields of a CA bundle that are set. A bundle must have
// exactly one.
func CASources[Ref any](inline *string, secretRef, configMapRef *Ref) []string {
	var set []string
	if inline != nil {
		set = append(set, "inline")
	}
	if secretRef != nil {
		set = append(set, "secretRef")
	}
	if configMapRef != nil {
		set = append(set, "configMapRef")
	}
	return set
}

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
