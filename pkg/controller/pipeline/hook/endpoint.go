// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// defaultTimeout is the deadline of a call where webhook.timeout sets no positive one.
const defaultTimeout = 10 * time.Second

// endpoint returns the URL that a webhook is called at: webhook.url if it is set,
// else the one made of webhook.service and webhook.path.
func endpoint(webhook *v1alpha1.Webhook) (*url.URL, error) {
	if webhook.URL != nil && *webhook.URL != "" {
		return parseURL(*webhook.URL)
	}
	if webhook.Service == nil || webhook.Path == nil || *webhook.Path == "" {
		return nil, errors.New("invalid webhook config: must specify either a full 'url', or both 'service' and 'path'")
	}
	service := webhook.Service
	if service.Name == "" || service.Namespace == "" {
		return nil, errors.New("invalid webhook config: 'service' must specify both 'name' and 'namespace'")
	}
	protocol, port := "http", int32(80)
	if service.Protocol != nil && *service.Protocol != "" {
		protocol = *service.Protocol
	}
	if service.Port != nil {
		port = *service.Port
	}
	return parseURL(fmt.Sprintf("%s://%s.%s:%d%s", protocol, service.Name, service.Namespace, port, *webhook.Path))
}

// parseURL leaves the URL out of its errors: there may be a password in it.
func parseURL(text string) (*url.URL, error) {
	parsed, err := url.Parse(text)
	switch wrapped, ok := errors.AsType[*url.Error](err); {
	case err != nil && strings.Contains(text, "@"):
		return nil, errors.New("invalid webhook config: the url cannot be parsed; what is special in its user name and password must be percent-encoded")
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

// withoutCredentials is the URL as it may be told: without user name, password and query,
// any of which may be what lets one in.
func withoutCredentials(endpoint *url.URL) string {
	shown := *endpoint
	shown.User, shown.RawQuery, shown.ForceQuery, shown.Fragment, shown.RawFragment = nil, "", false, "", ""
	text := shown.String()
	if endpoint.User != nil {
		text = strings.Replace(text, "://", "://xxxxx@", 1)
	}
	if endpoint.RawQuery != "" {
		text += "?xxxxx"
	}
	return text
}

// timeout returns the deadline of a call: ten seconds where the spec sets no
// positive one.
func timeout(spec *v1alpha1.Webhook) (time.Duration, error) {
	if spec.Timeout == nil {
		return defaultTimeout, nil
	}
	timeout, err := spec.Timeout.Parse()
	if err != nil {
		return 0, fmt.Errorf("invalid webhook config: timeout: %w", err)
	}
	if timeout <= 0 {
		return defaultTimeout, nil
	}
	return timeout, nil
}
