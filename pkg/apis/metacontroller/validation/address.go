// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// addressOf returns the URL that a webhook is called at, or nil if it cannot be called.
func addressOf(webhook *v1alpha1.Webhook) *url.URL {
	if len(validateAddress(webhook, field.NewPath("webhook"))) > 0 {
		return nil
	}
	address, err := webhook.Address().Parse()
	if err != nil {
		return nil
	}
	return address
}

// validateAddress checks the url, or service and path. If there is a url, the others have no
// meaning.
func validateAddress(webhook *v1alpha1.Webhook, path *field.Path) field.ErrorList {
	switch {
	case webhook.Address().HasURL(), webhook.URL != nil && webhook.Service == nil:
		return validateURL(*webhook.URL, path.Child("url"))
	case webhook.Service != nil:
		errs := validateService(webhook.Service, path.Child("service"))
		return append(errs, validatePath(webhook.Path, path.Child("path"))...)
	default:
		return field.ErrorList{field.Required(path, "must have either a url, or a service and a path")}
	}
}

// validateURL checks a url. It accepts a URL with a port and no host, which is called at the
// machine that the server runs on.
func validateURL(text string, path *field.Path) field.ErrorList {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || !isHTTP(address.Scheme) {
		return field.ErrorList{field.Invalid(path, hookaddress.RedactText(text), `must be a URL with http or https and a host, such as "http://my-hooks.my-namespace/sync"`)}
	}
	if host := address.Hostname(); host != "" && !isIP(host) && isASCII(host) && !isHostName(strings.TrimSuffix(host, ".")) {
		return field.ErrorList{field.Invalid(path, hookaddress.RedactText(text), "must have the name of a host, such as my-hooks.my-namespace, or an IP address")}
	}
	if port := address.Port(); port != "" {
		if number, err := strconv.Atoi(port); err != nil || len(validation.IsValidPortNum(number)) > 0 {
			return field.ErrorList{field.Invalid(path, hookaddress.RedactText(text), "must have a port number between 1 and 65535, or none")}
		}
	}
	return nil
}

func isHTTP(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

func validateService(service *v1alpha1.ServiceReference, path *field.Path) field.ErrorList {
	errs := validateReference("Service", service.Name, service.Namespace, path)
	errs = append(errs, validateHostPart(service.Name, path.Child("name"))...)
	errs = append(errs, validateHostPart(strings.TrimSuffix(service.Namespace, "."), path.Child("namespace"))...)
	if service.Port != nil && len(validation.IsValidPortNum(int(*service.Port))) > 0 {
		errs = append(errs, field.Invalid(path.Child("port"), *service.Port, "must be a port number between 1 and 65535"))
	}
	if service.Protocol != nil && *service.Protocol != "" && !isHTTP(*service.Protocol) {
		errs = append(errs, field.NotSupported(path.Child("protocol"), *service.Protocol, []string{"http", "https"}))
	}
	return errs
}

// validateHostPart checks a part of a host name. It accepts dots: "<name>.<namespace>" becomes the
// host name as it is, and some users write "my-namespace.svc.cluster.local" as the namespace.
func validateHostPart(text string, path *field.Path) field.ErrorList {
	if text == "" || isHostName(text) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, text, "must be part of a host name: letters, digits, '-' and '.'")}
}

// validatePath checks that a path can follow the port in a URL without changing host and port. An
// empty path can. The error does not show the query, which may have a token in it.
func validatePath(text *string, path *field.Path) field.ErrorList {
	if text == nil {
		return field.ErrorList{field.Required(path, `is the path of the webhook at its service, such as "/sync"`)}
	}
	const service = "service:80"
	if address, err := url.Parse("http://" + service + *text); err != nil || address.Host != service || address.User != nil {
		return field.ErrorList{field.Invalid(path, hookaddress.RedactText(*text), `must be the path of a URL and start with "/", such as "/sync"`)}
	}
	return nil
}

func isIP(host string) bool {
	host, _, _ = strings.Cut(host, "%")
	return net.ParseIP(host) != nil
}

// isASCII reports whether a name is looked up as it is. Other names are encoded first.
func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// isHostName reports whether a name can be looked up. Other than the name of a Service, it may have
// capitals and underscores.
func isHostName(name string) bool {
	if len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) == 0 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return false
		}
	}
	return true
}
