// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"iter"
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

// secretValues are the values of the Secrets in bodies, whole and in parts.
type secretValues struct {
	values []string
	// tooMuch is true if not all values were collected.
	tooMuch bool
}

// addBody adds the values of the Secrets in a body. In a body that is no JSON, it reads as far as
// there is some, and takes all data for that of Secrets.
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
			continue // it is no text, or it is a name
		}
		if field := decoder.StackPointer().Parent().LastToken(); isSecretField(field) {
			v.addText(token.String(), field == "data")
		}
	}
}

// addText adds a value. Of a value of several lines, each line is secret, and of a line that is a
// setting, what is set.
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
