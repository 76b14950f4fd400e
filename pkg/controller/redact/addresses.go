// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// minQueryValueBytes is the length from which a value in a query is taken for a key. Shorter ones, such
// as "true", are found everywhere.
const minQueryValueBytes = 8

// addAddresses adds what is secret in the addresses of the hooks of a controller.
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
