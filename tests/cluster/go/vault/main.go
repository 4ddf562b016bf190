// Vault, whole: its own module cannot be built by its path, because of the replace lines that it needs.
package main

import (
	"os"

	"github.com/hashicorp/vault/command"
)

func main() { os.Exit(command.Run(os.Args[1:])) }
