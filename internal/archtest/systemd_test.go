package archtest

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braidhq/braid/internal/testkit/program"
)

// unit is a unit file of systemd: the values of each key of a section, in their order.
type unit map[string]map[string][]string

func parseUnit(text string) (unit, []string) {
	u, findings, section := unit{}, []string(nil), ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = line[1 : len(line)-1]
			u[section] = map[string][]string{}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section == "" {
			findings = append(findings, fmt.Sprintf("line %d is no setting: %s", i+1, line))
			continue
		}
		u[section][key] = append(u[section][key], value)
	}
	return u, findings
}

func (u unit) environment() map[string]string {
	set := map[string]string{}
	for _, assignment := range u["Service"]["Environment"] {
		name, value, _ := strings.Cut(assignment, "=")
		set[name] = value
	}
	return set
}

// hardening is what each unit must have, and to what.
func hardening() map[string]string {
	return map[string]string{
		"NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes",
		"PrivateUsers": "yes", "ProtectKernelTunables": "yes", "ProtectKernelModules": "yes", "ProtectKernelLogs": "yes", "ProtectControlGroups": "yes",
		"ProtectClock": "yes", "ProtectHostname": "yes", "ProtectProc": "invisible", "ProcSubset": "pid", "RestrictNamespaces": "yes", "RestrictRealtime": "yes",
		"RestrictSUIDSGID": "yes", "LockPersonality": "yes", "MemoryDenyWriteExecute": "yes", "SystemCallArchitectures": "native",
		"RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX", "CapabilityBoundingSet": "", "AmbientCapabilities": "", "UMask": "0077", "LimitCORE": "0",
		"Restart": "always",
	}
}

// unitKeys are the keys of systemd 250 and later that our units use beside those of hardening: a key that is spelt wrongly is only
// warned of by systemd, and does nothing.
func unitKeys() map[string][]string {
	return map[string][]string{
		"Unit": {"Description", "Documentation", "Wants", "After", "StartLimitIntervalSec"},
		"Service": {
			"Type", "ExecStart", "Environment", "EnvironmentFile", "LoadCredential", "RestartSec", "TimeoutStopSec", "KillSignal", "CacheDirectory", "CacheDirectoryMode",
			"StateDirectory", "StateDirectoryMode", "ConfigurationDirectory", "ConfigurationDirectoryMode", "LogsDirectory", "LogsDirectoryMode", "User", "Group", "DynamicUser", "RemoveIPC", "SystemCallFilter", "SystemCallErrorNumber", "LimitNOFILE",
		},
		"Install": {"WantedBy"},
	}
}

// checkUnit finds what is wrong with a unit; flags are those of our binaries.
func checkUnit(text string, binaries, flags map[string]bool) []string {
	u, findings := parseUnit(text)
	for _, section := range slices.Sorted(maps.Keys(u)) {
		for _, key := range slices.Sorted(maps.Keys(u[section])) {
			_, hardens := hardening()[key]
			if !slices.Contains(unitKeys()[section], key) && !(section == "Service" && hardens) {
				findings = append(findings, fmt.Sprintf("[%s] has the key %s, which is not known to be one", section, key))
			}
		}
	}
	service := u["Service"]
	for _, key := range slices.Sorted(maps.Keys(hardening())) {
		if want := hardening()[key]; !slices.Equal(service[key], []string{want}) {
			findings = append(findings, fmt.Sprintf("%s is %q, want %q", key, service[key], want))
		}
	}
	start := strings.Fields(strings.Join(service["ExecStart"], " "))
	if len(start) == 0 || !strings.HasPrefix(start[0], "/") || !binaries[filepath.Base(start[0])] {
		findings = append(findings, fmt.Sprintf("it starts %q, which is none of our binaries by a whole path", start))
	} else {
		findings = append(findings, checkUser(filepath.Base(start[0]), service)...)
	}
	set := u.environment()
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if flag, ours := strings.CutPrefix(name, "BRAID_"); ours && !flags[strings.ReplaceAll(strings.ToLower(flag), "_", "-")] {
			findings = append(findings, name+" is set, and no binary has that setting")
		}
	}
	stop, err := time.ParseDuration(strings.Join(service["TimeoutStopSec"], ""))
	if grace, ok := set["BRAID_GRACE"]; ok && err == nil {
		if g, err := time.ParseDuration(grace); err != nil || stop < g+10*time.Second {
			findings = append(findings, fmt.Sprintf("it is killed after %s, and needs %s to finish what is in hand", stop, grace))
		}
	} else if err != nil {
		findings = append(findings, fmt.Sprintf("TimeoutStopSec is %q", service["TimeoutStopSec"]))
	}
	return findings
}

// theUser is that of the daemons that read files which root keeps up to date.
const theUser = "braid"

// checkUser finds a unit that runs as root or as somebody else's user, and what a user that comes and goes cannot read again.
func checkUser(binary string, service map[string][]string) (findings []string) {
	is := func(key, want string) bool { return slices.Equal(service[key], []string{want}) }
	switch {
	case binary == "worker":
		if !is("DynamicUser", "yes") || len(service["User"]) > 0 {
			findings = append(findings, "a worker shares its user, and so what it knows, with others; set DynamicUser=yes and no User")
		}
		return findings
	case !is("User", theUser) || !is("Group", theUser) || len(service["DynamicUser"]) > 0:
		findings = append(findings, "its user is not "+theUser+", whose group may read the files of tokens and of TLS")
	}
	if !is("ConfigurationDirectory", "braid") || !is("ConfigurationDirectoryMode", "0755") {
		findings = append(findings, "/etc/braid need not be there; set ConfigurationDirectory")
	}
	if !is("LogsDirectory", "braid") || !is("LogsDirectoryMode", "0750") {
		findings = append(findings, "there is no folder where it may write an audit; set LogsDirectory")
	}
	for _, credential := range service["LoadCredential"] {
		if !strings.HasPrefix(credential, "nats.nk:") {
			findings = append(findings, credential+": a credential is a copy as of the start; what is read again when it changes is to be a file")
		}
	}
	return findings
}

func TestTheUserOfTheUnitsIsMade(t *testing.T) {
	if made := matches(readFile(t, "deploy/systemd/braid.conf"), `(?m)^u (\S+) - "[^"]+" /var/lib/braid /usr/sbin/nologin$`); !slices.Equal(made, []string{theUser}) {
		t.Errorf("braid.conf makes %q", made)
	}
}

// What systemd itself says of the units, where there is one.
func TestSystemdTakesTheUnits(t *testing.T) {
	analyze := program.Find(t, "systemd-analyze", "systemd")
	dir, args := t.TempDir(), []string{"verify", "--man=no"}
	files, err := filepath.Glob(filepath.Join(root, "deploy", "systemd", "*.service"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		// Our binaries need not be installed here.
		text := strings.ReplaceAll(readFile(t, filepath.Join("deploy", "systemd", name)), "/usr/local/bin/", dir+"/")
		copied := filepath.Join(dir, strings.Replace(name, "@.", "@1.", 1))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, copied)
	}
	for _, binary := range []string{"braid", "coordinator", "worker"} {
		if err := os.WriteFile(filepath.Join(dir, binary), []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it stands for a program
			t.Fatal(err)
		}
	}
	said, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
	if err != nil && !strings.Contains(string(said), dir) {
		program.Missing(t, "systemd-analyze does not run here: %v, %s", err, said)
	}
	if strings.Contains(string(said), dir) {
		t.Errorf("%v: %s", err, said)
	}
}

func TestUnitsAreHardenedAndNameWhatThereIs(t *testing.T) {
	binaries, flags := binariesAndFlags(t)
	files, err := filepath.Glob(filepath.Join(root, "deploy", "systemd", "*.service"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%d units, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		for _, finding := range checkUnit(readFile(t, filepath.Join("deploy", "systemd", name)), binaries, flags) {
			t.Errorf("%s: %s", name, finding)
		}
	}
}

func TestPlantedMistakesInUnitsAreFound(t *testing.T) {
	binaries, flags := map[string]bool{"worker": true, "coordinator": true}, map[string]bool{"grace": true}
	const static = "User=braid\nGroup=braid\nConfigurationDirectory=braid\nConfigurationDirectoryMode=0755\nLogsDirectory=braid\nLogsDirectoryMode=0750\n"
	const byWorker, byCoordinator = "worker\nDynamicUser=yes\n", "coordinator\n" + static
	var good strings.Builder
	good.WriteString("[Service]\nExecStart=/usr/local/bin/worker\nDynamicUser=yes\nTimeoutStopSec=90s\nEnvironment=BRAID_GRACE=45s\n")
	for key, value := range hardening() {
		good.WriteString(key + "=" + value + "\n")
	}
	for name, c := range map[string]struct {
		old, replacement string
		want             []string
	}{
		"nothing planted":     {"", "", nil},
		"a key spelt wrongly": {"NoNewPrivileges=yes", "NoNewPrivilege=yes", []string{"[Service] has the key NoNewPrivilege, which", "NoNewPrivileges is []"}},
		"not hardened":        {"ProtectSystem=strict", "ProtectSystem=full", []string{`ProtectSystem is ["full"]`}},
		"another binary":      {"bin/worker", "bin/wroker", []string{"it starts"}},
		"no such setting":     {"BRAID_GRACE", "BRAID_GRASE", []string{"BRAID_GRASE is set"}},
		"killed too early":    {"TimeoutStopSec=90s", "TimeoutStopSec=45s", []string{"it is killed after 45s"}},
		"a coordinator":       {byWorker, byCoordinator, nil},
		"a user of none":      {byWorker, "coordinator\nDynamicUser=yes\n" + static, []string{"its user is not braid"}},
		"as root":             {byWorker, strings.Replace(byCoordinator, "User=braid\n", "", 1), []string{"its user is not braid"}},
		"a worker as braid":   {byWorker, "worker\nUser=braid\n", []string{"a worker shares its user"}},
		"nowhere to write":    {byWorker, strings.Replace(byCoordinator, "LogsDirectory=braid\n", "", 1), []string{"there is no folder where it may write an audit"}},
		"a copy of tokens":    {byWorker, byCoordinator + "LoadCredential=tokens.yaml:/etc/braid/tokens.yaml\n", []string{"tokens.yaml:/etc/braid/tokens.yaml: a credential is a copy"}},
		"no setting":          {"[Service]\n", "[Service]\nProtect\n", []string{"line 2 is no setting"}},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, checkUnit(strings.Replace(good.String(), c.old, c.replacement, 1), binaries, flags), c.want)
		})
	}
}

// binariesAndFlags are the names of our commands, and of all that looks like one of their flags.
func binariesAndFlags(t *testing.T) (binaries, flags map[string]bool) {
	t.Helper()
	binaries, flags = map[string]bool{}, map[string]bool{}
	for _, s := range readTree(t) {
		if binary, ok := strings.CutPrefix(s.pkg, "cmd/"); ok && !s.test {
			binaries[binary] = true
		}
		if !s.test && (below(s.pkg, "cmd") || below(s.pkg, "internal/daemon")) {
			maps.Copy(flags, s.literals())
		}
	}
	return binaries, flags
}

// seconds reads a number of seconds.
func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// portOf is the port of host:port.
func portOf(address string) int {
	n, err := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	if err != nil {
		return 0
	}
	return n
}
