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
)

const (
	// fewValues is how many values are replaced without a search for those that are in the text.
	fewValues = 16
	// maxTried limits the values of which all forms are searched for, which takes tens of milliseconds.
	maxTried = 10_000
)

// appendTexts appends what of a body may be shown: the body and the texts in it, without their escapes. It appends
// nothing if the values are so few that no search is needed.
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

// formsIn returns the forms of values that occur in texts, and of few values all forms. It returns false if so many
// values may be in the texts that the search would take too long.
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

// replacer returns what blanks texts.
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
