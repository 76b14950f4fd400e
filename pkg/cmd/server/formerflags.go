// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// formerFlags are those of Metacontroller that are no more, and what to do instead.
func formerFlags() map[string]string {
	const logging = "logs are those of Kubernetes components; "
	return map[string]string{
		"zap-log-level":        logging + "use -v with the same number (-v=4 tells about syncs, -v=6 shows what hooks are sent and answer), or nothing for info and error",
		"zap-encoder":          logging + "use --logging-format=json or --logging-format=text",
		"zap-devel":            logging + "leave it out, and use -v=4 to see more",
		"zap-stacktrace-level": logging + "leave it out",
		"zap-time-encoding":    logging + "leave it out",
	}
}

// explainFlag adds to an error about a flag what to do instead.
func explainFlag(err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if instead := formerFlags()[unknown.GetSpecifiedName()]; instead != "" {
			return fmt.Errorf("%w: %s", err, instead)
		}
	}
	return fmt.Errorf("%w; --help lists the flags", err)
}
