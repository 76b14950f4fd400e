// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	stdjson "encoding/json"
	"html"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// minSecretBytes is the length from which a value is searched for in texts. A shorter one would be
// found everywhere.
const minSecretBytes = 4

// secretValues are the values of the Secrets in bodies, as they may occur in a text.
type secretValues map[string]struct{}

// addBody adds the values of the Secrets in a body. In a body that is no JSON, it reads as far as
// there is some, and takes all data for that of Secrets.
func (v secretValues) addBody(body []byte) {
	switch body = bytes.TrimSpace(body); {
	case !MentionsSecret(body):
	case isJSON(body):
		v.addValue(body, false)
	default:
		v.addBroken(body)
	}
}

func (v secretValues) addValue(raw []byte, isSecret bool) {
	switch raw[0] {
	case '{':
		kind := kindOf(raw)
		isSecret = isSecret || kind == secretKind
		_ = object.Members(raw, func(name string, value []byte) error {
			if isSecret && isSecretField(name) {
				v.addData(value, name == "data")
			} else {
				v.addValue(value, kind == secretListKind && name == "items")
			}
			return nil
		})
	case '[':
		_ = object.Elements(raw, func(_ int, element []byte) error {
			v.addValue(element, isSecret)
			return nil
		})
	case '"': // such as the last applied configuration in an annotation
		if !MentionsSecret(raw) {
			return
		}
		if text := bytes.TrimSpace([]byte(unquote(raw))); isComposite(text) {
			v.addBody(text)
		}
	}
}

// addData adds the values of the data of a Secret.
func (v secretValues) addData(data []byte, encoded bool) {
	switch data[0] {
	case '"':
		v.add(unquote(data), encoded)
	case '[':
		_ = object.Elements(data, func(_ int, element []byte) error {
			v.addData(element, encoded)
			return nil
		})
	case '{':
		_ = object.Members(data, func(_ string, value []byte) error {
			v.addData(value, encoded)
			return nil
		})
	}
}

func (v secretValues) addBroken(body []byte) {
	decoder := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return
		}
		if kind, length := decoder.StackIndex(decoder.StackDepth()); token.Kind() != '"' || kind == '{' && length%2 == 1 {
			continue // it is no text, or it is a name
		}
		if field := decoder.StackPointer().Parent().LastToken(); isSecretField(field) {
			v.add(token.String(), field == "data")
		}
	}
}

// add adds a value. Of a value of several lines, each line is secret, and of a line that is a
// setting, what is set.
func (v secretValues) add(value string, encoded bool) {
	v.addPlain(value)
	if !encoded {
		return
	}
	if decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value)); err == nil {
		v.addPlain(string(decoded))
	}
}

func (v secretValues) addPlain(value string) {
	v.addForms(value)
	trimmed := strings.TrimSpace(value)
	v.addForms(trimmed)
	if isComposite([]byte(trimmed)) && isJSON([]byte(trimmed)) {
		v.addTexts([]byte(trimmed))
		return
	}
	for line := range strings.Lines(trimmed) {
		line = strings.TrimSpace(line)
		v.addForms(line)
		if _, setting, found := strings.Cut(line, "="); found {
			v.addForms(strings.Trim(setting, ` "'`))
		}
		if _, setting, found := strings.Cut(line, ": "); found {
			v.addForms(strings.Trim(setting, ` "'`))
		}
	}
}

// addTexts adds the texts in a value that is JSON itself, such as the credentials of a registry.
func (v secretValues) addTexts(raw []byte) {
	switch raw[0] {
	case '{':
		_ = object.Members(raw, func(_ string, value []byte) error { v.addTexts(value); return nil })
	case '[':
		_ = object.Elements(raw, func(_ int, element []byte) error { v.addTexts(element); return nil })
	case '"':
		v.addForms(unquote(raw))
	}
}

// addForms adds the forms in which a text may quote a value.
func (v secretValues) addForms(value string) {
	if len(value) < minSecretBytes || len(v) >= maxForms {
		return
	}
	quoted, _ := stdjson.Marshal(value) // a string can always be marshaled
	raw := []byte(value)
	for _, form := range []string{
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
	} {
		v[form] = struct{}{}
	}
}

func withoutQuotes(text string) string { return text[1 : len(text)-1] }

// all returns the values, and the credentials of whatever length, the longest ones first.
func (v secretValues) all(credentials []string) []string {
	all := slices.Collect(maps.Keys(v))
	all = append(all, credentials...)
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) }) // a long value may contain a short one
	return all
}

// replacer returns what blanks texts.
func replacer(all []string) *strings.Replacer {
	pairs := make([]string, 0, 2*len(all))
	for _, value := range all {
		pairs = append(pairs, value, blank)
	}
	return strings.NewReplacer(pairs...)
}
