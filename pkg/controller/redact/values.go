// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	stdjson "encoding/json"
	"html"
	"index/suffixarray"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// minSecretBytes is the length from which a value is searched for in texts. A shorter one would be
// found everywhere.
const minSecretBytes = 4

// maxValues limits how many values are searched for in a text.
const maxValues = 100_000

// secretValues are the values of the Secrets in bodies, complete and in parts.
type secretValues struct {
	values []string
	// tooMuch is true if not all values were collected.
	tooMuch bool
}

// addBody adds the values of the Secrets in a body. If a body is not valid JSON, addBody reads up to the first
// error, and treats all data as data of Secrets.
func (v *secretValues) addBody(body []byte, depth int) {
	switch body = bytes.TrimSpace(body); {
	case v.tooMuch || !MentionsSecret(body):
	case isJSON(body):
		v.addValue(body, false, depth)
	default:
		v.addBroken(body)
	}
}

func (v *secretValues) addValue(raw []byte, isSecret bool, depth int) {
	if v.tooMuch = v.tooMuch || depth > maxDepth; v.tooMuch {
		return
	}
	switch raw[0] {
	case '{':
		kind := sync.OnceValue(func() string { return kindOf(raw) })
		_ = object.Members(raw, func(name string, value []byte) error {
			if isSecretField(name) && (isSecret || kind() == secretKind) {
				v.addData(value, name == "data")
			} else {
				v.addValue(value, name == "items" && kind() == secretListKind, depth+1)
			}
			return nil
		})
	case '[':
		_ = object.Elements(raw, func(_ int, element []byte) error {
			v.addValue(element, isSecret, depth+1)
			return nil
		})
	case '"': // such as the last applied configuration in an annotation
		if !MentionsSecret(raw) {
			return
		}
		if text := bytes.TrimSpace([]byte(unquote(raw))); isComposite(text) {
			v.addBody(text, depth+1)
		}
	}
}

// addData adds the values of the data of a Secret.
func (v *secretValues) addData(data []byte, encoded bool) {
	for text, isName := range textsIn(data) {
		if !isName {
			v.addText(text, encoded)
		}
	}
}

func (v *secretValues) addBroken(body []byte) {
	decoder := tokensOf(body)
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return
		}
		if kind, length := decoder.StackIndex(decoder.StackDepth()); token.Kind() != '"' || kind == '{' && length%2 == 1 {
			continue // it is not a text, or it is a name
		}
		if field := decoder.StackPointer().Parent().LastToken(); isSecretField(field) {
			v.addText(token.String(), field == "data")
		}
	}
}

// addText adds a value. Each line of a value is secret on its own, and so is the value in a line that is a setting.
func (v *secretValues) addText(value string, encoded bool) {
	v.addPlain(value)
	if !encoded {
		return
	}
	if decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value)); err == nil {
		v.addPlain(string(decoded))
	}
}

func (v *secretValues) addPlain(value string) {
	v.add(value)
	trimmed := strings.TrimSpace(value)
	v.add(trimmed)
	if isComposite([]byte(trimmed)) && isJSON([]byte(trimmed)) {
		v.addTexts([]byte(trimmed))
		return
	}
	for line := range strings.Lines(trimmed) {
		line = strings.TrimSpace(line)
		v.add(line)
		if _, setting, found := strings.Cut(line, "="); found {
			v.add(strings.Trim(setting, ` "'`))
		}
		if _, setting, found := strings.Cut(line, ": "); found {
			v.add(strings.Trim(setting, ` "'`))
		}
	}
}

// addTexts adds the texts in a value that is JSON itself, such as the credentials of a registry.
func (v *secretValues) addTexts(raw []byte) {
	for text, isName := range textsIn(raw) {
		if !isName {
			v.add(text)
		}
	}
}

func tokensOf(raw []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// textsIn returns the texts in a JSON value, and for each whether it is the name of a field.
func textsIn(raw []byte) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		decoder := tokensOf(raw)
		for {
			token, err := decoder.ReadToken()
			if err != nil {
				return
			}
			kind, length := decoder.StackIndex(decoder.StackDepth())
			if token.Kind() == '"' && !yield(token.String(), kind == '{' && length%2 == 1) {
				return
			}
		}
	}
}

// add adds a value that is secret as it is.
func (v *secretValues) add(value string) {
	if len(value) < minSecretBytes || v.tooMuch || len(v.values) > 0 && v.values[len(v.values)-1] == value {
		return
	}
	v.values = append(v.values, value)
	v.tooMuch = len(v.values) >= maxValues
}

// minQueryValueBytes is the length from which a value in a query is taken for a key. Shorter ones, such
// as "true", are found everywhere.
const minQueryValueBytes = 8

// addAddresses adds the secret parts of the addresses of the hooks of a controller.
func (v *secretValues) addAddresses(controller []byte) {
	hooks := object.Lookup(controller, "spec", "hooks")
	if len(hooks) == 0 || hooks[0] != '{' {
		return
	}
	_ = object.Members(hooks, func(_ string, hook []byte) error {
		if len(hook) > 0 && hook[0] == '{' {
			if address := object.Lookup(hook, "webhook", "url"); len(address) > 0 && address[0] == '"' {
				v.addAddress(unquote(address))
			}
		}
		return nil
	})
}

// addAddress adds the user name with the password, as they are written and as they are sent, the query,
// and by itself each password and each key in the query.
func (v *secretValues) addAddress(address string) {
	parsed, err := url.Parse(address)
	if err != nil {
		return // such a hook is never called
	}
	if user := parsed.User; user != nil {
		if _, rest, found := strings.Cut(address, "://"); found {
			if at := strings.LastIndex(rest[:len(rest)-len(afterAuthority(rest))], "@"); at >= 0 {
				v.add(rest[:at+1])
			}
		}
		if password, set := user.Password(); set {
			v.add(password)
			v.add(base64.StdEncoding.EncodeToString([]byte(user.Username() + ":" + password)))
		}
	}
	v.add(parsed.RawQuery)
	for _, values := range parsed.Query() {
		for _, value := range values {
			if len(value) >= minQueryValueBytes {
				v.add(value)
			}
		}
	}
}

// afterAuthority returns the part of an address without a scheme that begins with the path or query.
func afterAuthority(address string) string {
	if i := strings.IndexAny(address, "/?#"); i >= 0 {
		return address[i:]
	}
	return ""
}

const (
	// fewValues bounds the values that are replaced without a search for those that are in the text.
	fewValues = 16
	// maxTried limits the number of values whose forms are all searched for, which takes tens of milliseconds.
	maxTried = 10_000
)

// appendTexts appends the texts of a body in which secrets are looked for: the body itself and its strings, without
// their escapes. It appends nothing if the values are so few that no search is needed.
func appendTexts(to, body []byte, values *secretValues) []byte {
	if len(values.values) <= fewValues {
		return to
	}
	to = append(append(to, body...), '\n')
	if !isJSON(body) {
		return to
	}
	for text := range textsIn(body) { // of names, too
		if inner := bytes.TrimSpace([]byte(text)); isComposite(inner) {
			to = appendTexts(to, inner, values)
		} else {
			to = append(append(to, text...), '\n')
		}
	}
	return to
}

// formsIn returns the forms of values that occur in texts; if there are few values, it returns all forms. It returns
// false if the texts may have too many values for a search.
func (v *secretValues) formsIn(texts []byte) (forms []string, complete bool) {
	if len(v.values) <= fewValues {
		for _, value := range v.values {
			forms = slices.AppendSeq(forms, formsOf(value))
		}
		return forms, true
	}
	index, tried := suffixarray.New(texts), 0
	for _, value := range v.values {
		if len(value) > len(texts) || !mayBeIn(index, value) {
			continue
		}
		if tried++; tried > maxTried {
			return nil, false
		}
		for form := range formsOf(value) {
			if index.Lookup([]byte(form), 1) != nil {
				forms = append(forms, form)
			}
		}
	}
	return forms, true
}

// mayBeIn reports whether a form of a value may be in a text. No form is shorter than the value, and all forms
// begin as the value does, or as it does in base64, unless there is something to escape at its beginning.
func mayBeIn(index *suffixarray.Index, value string) bool {
	start := []byte(value[:min(len(value), 12)])
	if escaped := slices.IndexFunc(start, mayBeEscaped); escaped >= 0 {
		start = start[:escaped]
	}
	if len(start) < minSecretBytes {
		return true
	}
	var encoded [16]byte
	length := len(start) / 3 * 3 // so that what follows does not matter
	base64.RawStdEncoding.Encode(encoded[:], start[:length])
	return index.Lookup(start, 1) != nil || index.Lookup(encoded[:length/3*4], 1) != nil
}

func mayBeEscaped(char byte) bool {
	switch {
	case '0' <= char && char <= '9', 'a' <= char && char <= 'z', 'A' <= char && char <= 'Z',
		char == '-', char == '_', char == '.':
		return false
	}
	return true
}

// formsOf returns the forms in which a text may quote a value.
func formsOf(value string) iter.Seq[string] {
	quoted, _ := stdjson.Marshal(value) // a string can always be marshaled
	raw := []byte(value)
	return slices.Values([]string{
		value,
		withoutQuotes(string(quoted)),
		withoutQuotes(string(appendQuote(nil, value))),
		withoutQuotes(strconv.Quote(value)),
		withoutQuotes(strconv.QuoteToASCII(value)),
		strings.ReplaceAll(withoutQuotes(strconv.Quote(value)), `\"`, `"`),
		html.EscapeString(value),
		url.QueryEscape(value),
		url.PathEscape(value),
		base64.RawStdEncoding.EncodeToString(raw),
		base64.RawURLEncoding.EncodeToString(raw),
	})
}

func withoutQuotes(text string) string { return text[1 : len(text)-1] }

// replacer returns the replacer that blanks texts.
func replacer(forms []string) *strings.Replacer {
	// A long value may contain a short one.
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	forms = slices.Compact(forms)
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, blank)
	}
	return strings.NewReplacer(pairs...)
}
