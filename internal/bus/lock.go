package bus

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// noteHolder writes into the lock's file which process has it, for people. Nothing rests on it: it may fail.
func noteHolder(path string) {
	_ = os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
}

// holder says which process has the lock, as far as its file tells.
func holder(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid < 1 {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}
