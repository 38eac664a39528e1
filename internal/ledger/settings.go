package ledger

import (
	"fmt"
	"strings"
)

// Variable is the environment variable that says where the ledger is. Unlike a flag or a settings file it may hold the password: it is never
// shown.
const Variable = "BRAID_LEDGER_URL"

// FromSettings finds the database that is set: by the flag or setting --ledger, else by the variable. Neither: there is no ledger, and set is
// false. The error wraps ErrRefused and holds no secret.
func FromSettings(connection, passwordFile string, getenv func(string) string) (d Database, set bool, err error) {
	d = Database{Connection: strings.TrimSpace(connection), Named: "--ledger", PasswordFile: passwordFile}
	switch {
	case d.Connection != "" && HoldsPassword(d.Connection):
		return Database{}, false, fmt.Errorf("%w: --ledger holds a password, which others can read there; write the connection into the variable %s, or the password into the file of --ledger-password-file, or into PGPASSWORD or ~/.pgpass", ErrRefused, Variable)
	case d.Connection == "":
		d.Connection, d.Named = strings.TrimSpace(getenv(Variable)), Variable
	}
	if d.Connection == "" {
		if passwordFile != "" {
			return Database{}, false, fmt.Errorf("%w: --ledger-password-file belongs to --ledger or %s, and neither is set", ErrRefused, Variable)
		}
		return Database{}, false, nil
	}
	return d, true, d.Check()
}
