// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// NotShown replaces a text that must not be in logs and errors.
const NotShown = "(not shown: it contains Secrets)"

// blank replaces a value that must not be shown.
const blank = hookaddress.Blank

// Redactor redacts secrets in texts about one hook call: the credentials of the hook, the credentials in the
// addresses of the controller's hooks, and the values of Secrets in the request or the response. It searches for them
// only when the first text is redacted.
type Redactor struct {
	// Credentials are the credentials of the call. They are not empty.
	Credentials []string
	// Request and Answer are the bodies of the call. The answer need not be JSON.
	Request, Answer []byte
	// Controller is the controller in the request, for an incomplete request; nil for a complete one.
	Controller []byte

	// secret is nil until the first text is redacted.
	secret *secretValues
	// blanks blanks the secret values that are in the texts to show now.
	blanks *strings.Replacer
}

const (
	// maxSearchedBytes limits the request and the answer in which values of Secrets are searched for, because a hook
	// decides how many Secrets there are, and the search must not cost much more than the call.
	maxSearchedBytes = 8 << 20
	// maxTextBytes and maxBodyBytes are the sizes above which only the beginning of a text or a body is shown.
	maxTextBytes = 32 << 10
	maxBodyBytes = 1 << 20
	// maxDepth limits how deep in a body values are searched for and shown. Each level is read once more.
	maxDepth = 48
)

// Body returns a request or an answer in a form that may be shown. JSON stays JSON: the values of Secrets in it are
// blanked wherever they are. In other texts that mention Secrets, it also blanks the values of all quoted keys, because
// one of them may be from a Secret that cannot be read.
func (r *Redactor) Body(body []byte) string {
	body = bytes.TrimSpace(body)
	if r.isTooMuch() || len(body) > maxBodyBytes && r.MayShowSecrets() || !r.search(appendTexts(nil, body, r.secret)) {
		return strconv.Quote(NotShown)
	}
	if isJSON(body) {
		return string(r.appendValue(nil, body, false, 0))
	}
	return r.text(string(body), 0)
}

// Values returns a text in which the secret values are blanked. It returns NotShown if there are too many of
// them to search for, and the beginning of a text that is very long.
func (r *Redactor) Values(text string) string { return r.Each([]string{text})[0] }

// Each returns texts as Values does. One search for all of them costs less than one for each.
func (r *Redactor) Each(texts []string) []string {
	shown := slices.Clone(texts)
	var searched []string
	for i, text := range texts {
		switch {
		case text == "":
		case r.isTooMuch() || len(text) > maxTextBytes && r.MayShowSecrets():
			shown[i] = NotShown
		case len(text) > maxTextBytes:
			shown[i] = r.Beginning([]byte(text[:maxTextBytes]))
		default:
			searched = append(searched, text)
		}
	}
	if len(searched) == 0 {
		return shown
	}
	found := r.search([]byte(strings.Join(searched, "\n")))
	for i, text := range texts {
		switch {
		case shown[i] != text || text == "":
		case found:
			shown[i] = r.blanks.Replace(text)
		default:
			shown[i] = NotShown
		}
	}
	return shown
}

// isTooMuch reports whether there are too many values to search for. It collects them first.
func (r *Redactor) isTooMuch() bool {
	if r.secret == nil {
		r.secret = &secretValues{}
		if r.MayShowSecrets() {
			r.secret.tooMuch = len(r.Request)+len(r.Answer) > maxSearchedBytes
			r.secret.addBody(r.Request, 0)
			r.secret.addBody(r.Answer, 0)
		}
		if r.Controller == nil {
			r.Controller = object.Lookup(r.Request, "controller")
		}
		r.secret.addAddresses(r.Controller)
		for _, credential := range r.Credentials {
			r.secret.add(credential)
		}
	}
	return r.secret.tooMuch
}

// search finds the secret values that are in the texts to show now. It returns false if there may be too many.
func (r *Redactor) search(texts []byte) bool {
	forms, complete := r.secret.formsIn(texts)
	r.blanks = replacer(append(forms, r.Credentials...))
	return complete
}

// HidesNothing reports whether nothing in a text can be secret.
func (r *Redactor) HidesNothing() bool {
	return !r.isTooMuch() && len(r.secret.values)+len(r.Credentials) == 0
}

// Beginning redacts the beginning of a body whose rest is unknown. No part of the body may contain Secrets. Beginning
// leaves out an end that may be the beginning of a secret value.
func (r *Redactor) Beginning(body []byte) string {
	if r.isTooMuch() || !r.search(body) {
		return NotShown
	}
	text := r.blanks.Replace(string(body))
	for _, value := range append(slices.Clone(r.secret.values), r.Credentials...) {
		for form := range formsOf(value) {
			for length := min(len(form)-1, len(text)); length > 0; length-- {
				if strings.HasSuffix(text, form[:length]) {
					return text[:len(text)-length]
				}
			}
		}
	}
	return text
}

// IsObject reports whether a text is a JSON object.
func IsObject(text []byte) bool { return len(text) > 0 && text[0] == '{' && isJSON(text) }

// MayShowSecrets reports whether there may be Secrets in the request or the answer.
func (r *Redactor) MayShowSecrets() bool {
	return MentionsSecret(r.Request) || MentionsSecret(r.Answer)
}

// MentionsSecret reports whether a body may have a Secret in it.
func MentionsSecret(body []byte) bool { return bytes.Contains(body, []byte("Secret")) }

func isJSON(body []byte) bool {
	return jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// appendValue appends a JSON value in a form that may be shown. Every item of a list of Secrets counts as a Secret, even
// if it names another kind.
func (r *Redactor) appendValue(to, raw []byte, isSecret bool, depth int) []byte {
	if depth > maxDepth {
		return appendQuote(to, NotShown)
	}
	switch raw[0] {
	case '{':
		return r.appendObject(to, raw, isSecret, depth)
	case '[':
		to = append(to, '[')
		_ = object.Elements(raw, func(index int, element []byte) error {
			if index > 0 {
				to = append(to, ',')
			}
			to = r.appendValue(to, element, isSecret, depth+1)
			return nil
		})
		return append(to, ']')
	case '"':
		text := unquote(raw)
		if shown := r.text(text, depth+1); shown != text {
			return appendQuote(to, shown)
		}
		return append(to, raw...)
	default:
		return append(to, r.blanks.Replace(string(raw))...)
	}
}

func (r *Redactor) appendObject(to, raw []byte, isSecret bool, depth int) []byte {
	kind := kindOf(raw)
	isSecret = isSecret || kind == secretKind
	to = append(to, '{')
	start := len(to)
	_ = object.Members(raw, func(name string, value []byte) error {
		if len(to) > start {
			to = append(to, ',')
		}
		to = append(appendQuote(to, r.blanks.Replace(name)), ':')
		if isSecret && isSecretField(name) {
			to = appendBlanked(to, value)
		} else {
			to = r.appendValue(to, value, kind == secretListKind && name == "items", depth+1)
		}
		return nil
	})
	return append(to, '}')
}

// appendBlanked appends the data of a Secret: its keys without their values.
func appendBlanked(to, data []byte) []byte {
	if data[0] != '{' {
		return append(to, `"`+blank+`"`...)
	}
	to = append(to, '{')
	start := len(to)
	_ = object.Members(data, func(name string, _ []byte) error {
		if len(to) > start {
			to = append(to, ',')
		}
		to = append(appendQuote(to, name), `:"`+blank+`"`...)
		return nil
	})
	return append(to, '}')
}

var (
	// manifest and manifestData together are in a Secret that is written in YAML or in the form of Go.
	manifest     = regexp.MustCompile(`\bkind\s*[:=]\s*"?Secret\b|\bSecret\{`)
	manifestData = regexp.MustCompile(`(?i)\b(data|stringData)\b`)
	// quotedKeys are a quoted key and its value in JSON, in JSON that is quoted, and in the forms of
	// other languages. The value may be cut off.
	quotedKeys = regexp.MustCompile(`(?s)(\\+"[^"]*"\s*:\s*)\\+"[^"]*"?` +
		`|("(?:\\.|[^"\\])*"\s*:\s*)b?(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?|[^\s"'{}\[\],]+)` +
		`|('(?:\\.|[^'\\])*'\s*:\s*)b?(?:'(?:\\.|[^'\\])*'?|"(?:\\.|[^"\\])*"?|[^\s"'{}\[\],]+)`)
)

// text returns a text in a form that may be shown.
func (r *Redactor) text(text string, depth int) string {
	if MentionsSecret([]byte(text)) {
		switch trimmed := []byte(strings.TrimSpace(text)); {
		case isComposite(trimmed) && isJSON(trimmed):
			text = string(r.appendValue(nil, trimmed, false, depth))
		case manifest.MatchString(text) && manifestData.MatchString(text):
			return NotShown
		default:
			text = quotedKeys.ReplaceAllString(text, "${1}${2}${3}"+blank)
		}
	}
	return r.blanks.Replace(text)
}

// isComposite reports whether a text begins like a JSON object or list.
func isComposite(text []byte) bool { return len(text) > 0 && (text[0] == '{' || text[0] == '[') }

const (
	secretKind     = "Secret"
	secretListKind = "SecretList"
)

// kindOf returns the kind of a JSON object of the core group, or "". An object without an
// apiVersion counts as one of that group.
func kindOf(raw []byte) string {
	kind, version := object.Lookup(raw, "kind"), object.Lookup(raw, "apiVersion")
	if len(kind) == 0 || kind[0] != '"' || version != nil && string(version) != `"v1"` {
		return ""
	}
	return unquote(kind)
}

// Fields returns the fields of a Secret that have its values.
func Fields() []string { return []string{"data", "stringData"} }

// isSecretField reports whether a field of a Secret has its values.
func isSecretField(name string) bool { return name == "data" || name == "stringData" }

func unquote(quoted []byte) string {
	text, _ := jsontext.AppendUnquote(nil, quoted) // the error only reports invalid UTF-8
	return string(text)
}

func appendQuote(to []byte, text string) []byte {
	to, _ = jsontext.AppendQuote(to, text) // the error only reports that invalid UTF-8 was replaced
	return to
}
