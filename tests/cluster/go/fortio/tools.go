//go:build tools

// Package fortio names the load generator of the tool image, so that go.mod pins it.
package fortio

import _ "fortio.org/fortio"
