// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller"
)

// noHooks is the error of a controller that could never call anything.
func noHooks(path *field.Path) *field.Error {
	return field.Required(path, "a sync hook with a webhook is needed: it answers what is to be done for each parent")
}

// calls says whether a hook leads to a webhook.
func calls(hook *metacontroller.Hook) bool {
	return hook != nil && hook.Webhook != nil
}

func validateHook(hook *metacontroller.Hook, path *field.Path) field.ErrorList {
	errs := validateHookVersion(hook, path)
	if calls(hook) {
		errs = append(errs, validateWebhook(hook.Webhook, path.Child("webhook"))...)
	}
	return errs
}

// validateFinalizeHook checks the hook that holds objects by a finalizer, whose name follows prefix with the controller's.
func validateFinalizeHook(hook *metacontroller.Hook, prefix, controller string, path *field.Path) field.ErrorList {
	if hook == nil {
		return nil
	}
	errs := validateHook(hook, path)
	if hook.Webhook == nil {
		errs = append(errs, field.Required(path.Child("webhook"),
			"says where the hook is: without it nothing could be asked when an object is deleted, so leave out the hook"))
	}
	if longest := maxFinalizerLength - len(prefix); len(controller) > longest {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf(
			"the finalizer of a controller with such a long name could not be stored: metadata.name may have %d characters at most", longest)))
	}
	return errs
}

// maxFinalizerLength is how long a finalizer may be behind its domain.
const maxFinalizerLength = 63

func validateHookVersion(hook *metacontroller.Hook, path *field.Path) field.ErrorList {
	if hook == nil || hook.Version == nil {
		return nil
	}
	switch *hook.Version {
	case metacontroller.HookVersionV1, metacontroller.HookVersionV2:
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("version"), *hook.Version, []metacontroller.HookVersion{
		metacontroller.HookVersionV1, metacontroller.HookVersionV2,
	})}
}

func validateWebhook(webhook *metacontroller.Webhook, path *field.Path) field.ErrorList {
	errs := validateAddress(webhook, path)
	if webhook.Timeout != nil {
		if _, err := webhook.Timeout.Parse(); err != nil {
			errs = append(errs, field.Invalid(path.Child("timeout"), *webhook.Timeout,
				`must be a number with a unit (ns, us, ms, s, m, h), or several of them in a row, such as "10s" or "1m30s"`))
		}
	}
	if webhook.ResponseUnmarshallMode != nil {
		switch *webhook.ResponseUnmarshallMode {
		case metacontroller.ResponseUnmarshallModeLoose, metacontroller.ResponseUnmarshallModeStrict:
		default:
			errs = append(errs, field.NotSupported(path.Child("responseUnMarshallMode"), *webhook.ResponseUnmarshallMode,
				[]metacontroller.ResponseUnmarshallMode{metacontroller.ResponseUnmarshallModeLoose, metacontroller.ResponseUnmarshallModeStrict}))
		}
	}
	return append(errs, validateConnection(connection{
		caBundle: webhook.CABundle, clientTLS: webhook.ClientTLS, authorization: webhook.Authorization, basicAuth: webhook.BasicAuth,
	}, path)...)
}

// validateAddress checks the choice between url and service with path. If there is a url, the others have no meaning.
func validateAddress(webhook *metacontroller.Webhook, path *field.Path) field.ErrorList {
	switch {
	case webhook.URL != nil:
		return validateURL(*webhook.URL, path.Child("url"))
	case webhook.Service != nil && webhook.Path != nil:
		errs := validateService(webhook.Service, path.Child("service"))
		return append(errs, validatePath(*webhook.Path, path.Child("path"))...)
	case webhook.Service != nil:
		errs := validateService(webhook.Service, path.Child("service"))
		return append(errs, field.Required(path.Child("path"), `is the path of the webhook at its service, such as "/sync"`))
	default:
		return field.ErrorList{field.Required(path, "must have either a url, or a service and a path")}
	}
}

func validateURL(text string, path *field.Path) field.ErrorList {
	const form = `must be a URL with http or https and a host, such as "http://my-hooks.my-namespace/sync"`
	address, err := url.Parse(text)
	if err != nil || address.Hostname() == "" || !isHTTP(address.Scheme) {
		return field.ErrorList{field.Invalid(path, text, form)}
	}
	if port := address.Port(); port != "" {
		if number, err := strconv.Atoi(port); err != nil || len(validation.IsValidPortNum(number)) > 0 {
			return field.ErrorList{field.Invalid(path, text, "must have a port number between 1 and 65535, or none")}
		}
	}
	return nil
}

func isHTTP(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

func validateService(service *metacontroller.ServiceReference, path *field.Path) field.ErrorList {
	errs := validateReference("Service", service.Name, service.Namespace, path)
	errs = append(errs, validateHostPart(service.Name, path.Child("name"))...)
	errs = append(errs, validateHostPart(service.Namespace, path.Child("namespace"))...)
	if service.Port != nil && len(validation.IsValidPortNum(int(*service.Port))) > 0 {
		errs = append(errs, field.Invalid(path.Child("port"), *service.Port, "must be a port number between 1 and 65535"))
	}
	if service.Protocol != nil && !isHTTP(*service.Protocol) {
		errs = append(errs, field.NotSupported(path.Child("protocol"), *service.Protocol, []string{"http", "https"}))
	}
	return errs
}

// validateHostPart lets dots through: "<name>.<namespace>" becomes a host name as it is, and there are users who write
// "my-namespace.svc.cluster.local" as the namespace.
func validateHostPart(text string, path *field.Path) field.ErrorList {
	if text == "" || len(validation.IsDNS1123Subdomain(text)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, text, "must be part of a host name: lower-case letters, digits, '-' and '.'")}
}

// validatePath checks that a path can follow the port in a URL. An empty one can, and one that is only a query.
func validatePath(text string, path *field.Path) field.ErrorList {
	if _, err := url.Parse("http://service:80" + text); err != nil {
		return field.ErrorList{field.Invalid(path, text, `must be the path of a URL and start with "/", such as "/sync"`)}
	}
	return nil
}
