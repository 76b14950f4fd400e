// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
)

// namedHook is a hook that has a webhook, and its name in the spec.
type namedHook struct {
	name    string
	webhook *v1alpha1.Webhook
}

// namedHooks returns the hooks that have a webhook.
func namedHooks(sync, finalize, customize *v1alpha1.Hook) []namedHook {
	var all []namedHook
	for _, one := range []struct {
		name string
		hook *v1alpha1.Hook
	}{{"sync", sync}, {"finalize", finalize}, {"customize", customize}} {
		if hasWebhook(one.hook) {
			all = append(all, namedHook{one.name, one.hook.Webhook})
		}
	}
	return all
}

// hasWebhook reports whether a hook has a webhook.
func hasWebhook(hook *v1alpha1.Hook) bool {
	return hook != nil && hook.Webhook != nil
}

// noHooks returns the error of a controller that has no hook to call.
func noHooks(path *field.Path) *field.Error {
	return field.Required(path,
		"a sync hook with a webhook or inline is required: it returns the desired state of each parent")
}

// validateHooks checks the hooks that both kinds of controllers have. finalizer is the prefix of
// the finalizer's name.
func validateHooks(
	sync, finalize, customize *v1alpha1.Hook, finalizer, controller string, path *field.Path,
) field.ErrorList {
	var errs field.ErrorList
	if !sync.IsCalled() && !finalize.IsCalled() {
		errs = append(errs, noHooks(path.Child("sync")))
	}
	decorates := finalizer == v1alpha1.DecoratorFinalizerPrefix
	errs = append(errs, validateHook(sync, inline.FormOf("sync", decorates), path.Child("sync"))...)
	errs = append(errs, validateFinalizeHook(finalize, finalizer, controller, path.Child("finalize"))...)
	return append(errs, validateHook(customize, inline.FormOf("customize", decorates), path.Child("customize"))...)
}

// validateHook checks a hook. form is the form of an inline hook.
func validateHook(hook *v1alpha1.Hook, form inline.Form, path *field.Path) field.ErrorList {
	errs := validateHookVersion(hook, path)
	if hasWebhook(hook) {
		errs = append(errs, validateWebhook(hook.Webhook, path.Child("webhook"))...)
	}
	if hook == nil || hook.Inline == nil {
		return errs
	}
	if hook.Webhook != nil {
		errs = append(errs, field.Forbidden(path.Child("inline"),
			"a hook has either a webhook or inline: remove one of them"))
	}
	_, found := inline.Compile(hook.Inline, form, path.Child("inline"))
	return append(errs, found...)
}

// validateFinalizeHook checks the hook that puts a finalizer on objects. The name of the finalizer
// is the prefix and the name of the controller.
func validateFinalizeHook(hook *v1alpha1.Hook, prefix, controller string, path *field.Path) field.ErrorList {
	if hook == nil {
		return nil
	}
	form := inline.FormOf("finalize", prefix == v1alpha1.DecoratorFinalizerPrefix)
	errs := validateHook(hook, form, path)
	if !hook.IsCalled() {
		errs = append(errs, field.Required(path.Child("webhook"),
			"a finalize hook needs a webhook or inline: set one, or remove the hook"))
	}
	_, name, _ := strings.Cut(prefix, "/")
	if maxName := maxFinalizerLength - len(name); len(controller) > maxName {
		errs = append(errs, field.Forbidden(path, fmt.Sprintf(
			"the finalizer contains the name of the controller, so metadata.name may have at most %d characters", maxName)))
	}
	return errs
}

// maxFinalizerLength is the maximum length of a finalizer without its domain.
const maxFinalizerLength = 63

func validateHookVersion(hook *v1alpha1.Hook, path *field.Path) field.ErrorList {
	if hook == nil || hook.Version == nil {
		return nil
	}
	switch *hook.Version {
	case v1alpha1.HookVersionV1, v1alpha1.HookVersionV2:
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("version"), *hook.Version, []v1alpha1.HookVersion{
		v1alpha1.HookVersionV1, v1alpha1.HookVersionV2,
	})}
}

func validateWebhook(webhook *v1alpha1.Webhook, path *field.Path) field.ErrorList {
	errs := validateAddress(webhook, path)
	if webhook.Timeout != nil {
		if _, err := webhook.Timeout.Parse(); err != nil {
			errs = append(errs, field.Invalid(path.Child("timeout"), *webhook.Timeout,
				`must be a number with a unit (ns, us, ms, s, m, h), or several of them in a row, such as "10s" or "1m30s"`))
		}
	}
	if webhook.ResponseUnmarshallMode != nil {
		switch *webhook.ResponseUnmarshallMode {
		case v1alpha1.ResponseUnmarshallModeLoose, v1alpha1.ResponseUnmarshallModeStrict:
		default:
			errs = append(errs, field.NotSupported(path.Child("responseUnMarshallMode"), *webhook.ResponseUnmarshallMode,
				[]v1alpha1.ResponseUnmarshallMode{v1alpha1.ResponseUnmarshallModeLoose, v1alpha1.ResponseUnmarshallModeStrict}))
		}
	}
	settings := webhook.Connection()
	errs = append(errs, validateReferences(settings, path)...)
	return append(errs, validateConnection(settings, path)...)
}

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

// validateAddress checks the url, or service and path. If there is a url, the others are ignored.
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

// validateURL checks a url. It accepts a URL with a port and no host, which means the machine that the server runs on.
func validateURL(text string, path *field.Path) field.ErrorList {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || !isHTTP(address.Scheme) {
		return field.ErrorList{field.Invalid(path, hookaddress.RedactText(text),
			`must be a URL with http or https and a host, such as "http://my-hooks.my-namespace/sync"`)}
	}
	if host := address.Hostname(); host != "" && !isIP(host) && isASCII(host) &&
		!isHostName(strings.TrimSuffix(host, ".")) {
		return field.ErrorList{field.Invalid(path, hookaddress.RedactText(text),
			"must have the name of a host, such as my-hooks.my-namespace, or an IP address")}
	}
	if port := address.Port(); port != "" {
		if number, err := strconv.Atoi(port); err != nil || len(validation.IsValidPortNum(number)) > 0 {
			return field.ErrorList{field.Invalid(path, hookaddress.RedactText(text),
				"must have a port number between 1 and 65535, or none")}
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

// validatePath checks that a path can follow the port in a URL without changing host and port. An empty path is valid.
// The error redacts the query, which may contain a token.
func validatePath(text *string, path *field.Path) field.ErrorList {
	if text == nil {
		return field.ErrorList{field.Required(path, `must be the path of the webhook at its service, such as "/sync"`)}
	}
	const service = "service:80"
	if address, err := url.Parse("http://" + service + *text); err != nil || address.Host != service ||
		address.User != nil {
		return field.ErrorList{field.Invalid(path, hookaddress.RedactText(*text),
			`must be the path of a URL and start with "/", such as "/sync"`)}
	}
	return nil
}

func isIP(host string) bool {
	host, _, _ = strings.Cut(host, "%")
	return net.ParseIP(host) != nil
}

// isASCII reports whether a name is looked up unchanged. Other names are encoded first.
func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// isHostName reports whether a name can be looked up. Unlike the name of a Service, it may contain uppercase letters
// and underscores.
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
