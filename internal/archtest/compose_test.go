package archtest

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"go.yaml.in/yaml/v3"
)

// composeFile is what the tests read of docker-compose.yml.
type composeFile struct {
	Services map[string]composeService `yaml:"services"`
	Volumes  map[string]any            `yaml:"volumes"`
}

type composeService struct {
	Image       string            `yaml:"image"`
	Build       *composeBuild     `yaml:"build"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Volumes     []string          `yaml:"volumes"`
	Healthcheck *struct {
		Test     []string `yaml:"test"`
		Interval string   `yaml:"interval"`
		Timeout  string   `yaml:"timeout"`
		Retries  int      `yaml:"retries"`
	} `yaml:"healthcheck"`
	DependsOn map[string]struct {
		Condition string `yaml:"condition"`
	} `yaml:"depends_on"`
	ReadOnly bool     `yaml:"read_only"`
	Tmpfs    []string `yaml:"tmpfs"`
	CapDrop  []string `yaml:"cap_drop"`
	Deploy   struct {
		Replicas int `yaml:"replicas"`
	} `yaml:"deploy"`
}

type composeBuild struct {
	Context string `yaml:"context"`
	Target  string `yaml:"target"`
}

func TestComposeStartsWorkersAndACoordinatorOnADurableNATS(t *testing.T) {
	compose := readCompose(t)
	nats, coordinator, worker := compose.Services["nats"], compose.Services["coordinator"], compose.Services["worker"]
	if !slices.Contains(nats.Volumes, "nats:/data") {
		t.Errorf("nats has the volumes %q; without nats:/data its streams die with the container", nats.Volumes)
	}
	if !slices.Contains(compose.Services["postgres"].Volumes, "postgres:/var/lib/postgresql/data") {
		t.Error("postgres keeps its data in no volume")
	}
	if coordinator.Build == nil || worker.Build == nil {
		t.Fatal("the coordinator and the workers are to be built from this tree")
	}
	for name, service := range compose.Services {
		if service.Healthcheck == nil {
			t.Errorf("nobody notices when %s hangs: it has no healthcheck", name)
		}
	}
	if worker.Deploy.Replicas < 2 {
		t.Errorf("%d workers; two show that work is shared", worker.Deploy.Replicas)
	}
}

func TestComposeReachesNothingBeyondThisMachine(t *testing.T) {
	for name, service := range readCompose(t).Services {
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s; begin it with 127.0.0.1:", name, port)
			}
		}
		if service.Environment["BRAID_ALLOW_UNAUTHENTICATED"] != "" && service.Environment["BRAID_HOSTS"] == "" {
			t.Errorf("%s answers to any host name, so that a web page may reach it by a name of its own; set BRAID_HOSTS", name)
		}
		if service.Build != nil && (!service.ReadOnly || !slices.Contains(service.CapDrop, "ALL")) {
			t.Errorf("%s may write its image or has capabilities; set read_only and cap_drop: [ALL]", name)
		}
	}
}

// What is written without a bound goes to a volume on the disk, and what is in memory has a size.
func TestComposeBoundsWhatContainersWrite(t *testing.T) {
	compose := readCompose(t)
	for name, service := range compose.Services {
		for _, mount := range service.Tmpfs {
			if !strings.Contains(mount, "size=") {
				t.Errorf("%s: %s may take the machine's memory; give it a size, as in /tmp:size=64m", name, mount)
			}
		}
	}
	coordinator := compose.Services["coordinator"]
	scratch := coordinator.Environment["BRAID_SCRATCH_DIR"]
	if scratch == "" || !slices.ContainsFunc(coordinator.Volumes, func(v string) bool { return strings.HasSuffix(v, ":"+scratch) }) {
		t.Errorf("the coordinator puts tables together in %q, which is no volume of %q", scratch, coordinator.Volumes)
	}
	if !strings.Contains(readFile(t, "Dockerfile"), "--chown=65532:65532 /empty "+scratch+"\n") {
		t.Errorf("the image has no folder %s of its user, which a new volume takes its owner from", scratch)
	}
}

// Prometheus asks where health and metrics are, which wants no token.
func TestPrometheusAsksTheAddressesOfHealth(t *testing.T) {
	config := readFile(t, "deploy/prometheus/prometheus.yml")
	for _, name := range []string{"coordinator", "worker"} {
		port := portOf(readCompose(t).Services[name].Environment["BRAID_HEALTH"])
		byName, byAddress := fmt.Sprintf("%s:%d", name, port), fmt.Sprintf("{names: [%s], type: A, port: %d}", name, port)
		if port == 0 || !strings.Contains(config, byName) && !strings.Contains(config, byAddress) {
			t.Errorf("%s serves its metrics at port %d, which prometheus.yml does not ask", name, port)
		}
	}
}

func TestComposeWaitsForHealthAndKeepsToDeclaredVolumes(t *testing.T) {
	report(t, checkCompose(readCompose(t)))
}

// checkCompose finds waits that nothing ends, health checks that judge nothing, and volumes that nobody declared.
func checkCompose(compose composeFile) []string {
	var findings []string
	for _, name := range slices.Sorted(maps.Keys(compose.Services)) {
		service := compose.Services[name]
		for _, other := range slices.Sorted(maps.Keys(service.DependsOn)) {
			needed, ok := compose.Services[other]
			switch {
			case !ok:
				findings = append(findings, fmt.Sprintf("%s waits for %s, which is no service", name, other))
			case other == "postgres":
				findings = append(findings, name+" waits for postgres; NATS alone must be enough")
			case service.DependsOn[other].Condition != "service_healthy":
				findings = append(findings, fmt.Sprintf("%s waits for %s to start and not to be healthy; set condition: service_healthy", name, other))
			case needed.Healthcheck == nil:
				findings = append(findings, fmt.Sprintf("%s waits for %s to be healthy, which has no healthcheck", name, other))
			}
		}
		if h := service.Healthcheck; h != nil && (len(h.Test) < 2 || h.Test[0] != "CMD" || h.Interval == "" || h.Timeout == "" || h.Retries == 0) {
			findings = append(findings, name+": a healthcheck needs test: [CMD, …], interval, timeout and retries")
		}
		if service.Image != "" && !strings.Contains(service.Image, ":") {
			findings = append(findings, fmt.Sprintf("%s: image %s has no version", name, service.Image))
		}
		for _, volume := range service.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if _, ok := compose.Volumes[source]; !ok && !strings.HasPrefix(source, "./") {
				findings = append(findings, fmt.Sprintf("%s: volume %s is not declared under volumes", name, source))
			}
		}
	}
	return findings
}

func TestPlantedComposeMistakesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"nothing planted":    {"services: {a: {image: 'a:1', depends_on: {b: {condition: service_healthy}}}, b: {image: 'b:1', healthcheck: {test: [CMD, b], interval: 1s, timeout: 1s, retries: 3}}}", nil},
		"an unknown service": {"services: {a: {image: 'a:1', depends_on: {b: {condition: service_healthy}}}}", []string{"a waits for b, which is no service"}},
		"no health to wait":  {"services: {a: {image: 'a:1', depends_on: {b: {condition: service_healthy}}}, b: {image: 'b:1'}}", []string{"a waits for b to be healthy, which has no healthcheck"}},
		"waits for a start":  {"services: {a: {image: 'a:1', depends_on: {b: {condition: service_started}}}, b: {image: 'b:1'}}", []string{"a waits for b to start"}},
		"needs the ledger":   {"services: {a: {image: 'a:1', depends_on: {postgres: {condition: service_healthy}}}, postgres: {image: 'b:1'}}", []string{"a waits for postgres"}},
		"any version":        {"services: {a: {image: a}}", []string{"a: image a has no version"}},
		"a volume of nobody": {"services: {a: {image: 'a:1', volumes: ['data:/data', './b:/b']}}", []string{"a: volume data is not declared"}},
		"no limit of tries":  {"services: {a: {image: 'a:1', healthcheck: {test: [CMD, a]}}}", []string{"a: a healthcheck needs"}},
	} {
		t.Run(name, func(t *testing.T) {
			var compose composeFile
			if err := yaml.Unmarshal([]byte(c.text), &compose); err != nil {
				t.Fatal(err)
			}
			expect(t, checkCompose(compose), c.want)
		})
	}
}

func TestComposeMountsAndConfiguresANATSServerThatKeepsWhatItAcknowledged(t *testing.T) {
	const config = "deploy/nats.conf"
	service := readCompose(t).Services["nats"]
	if !slices.ContainsFunc(service.Volumes, func(v string) bool { return strings.HasPrefix(v, "./"+config+":") }) {
		t.Errorf("nats mounts %q and not ./%s", service.Volumes, config)
	}
	options, err := server.ProcessConfigFile(filepath.Join(root, config))
	if err != nil {
		t.Fatalf("read %s: %v", config, err)
	}
	if !options.JetStream || options.StoreDir != "/data" || !options.SyncAlways {
		t.Errorf("JetStream %v in %q, sync always %v; want it on, in the volume /data, with sync_interval: always", options.JetStream, options.StoreDir, options.SyncAlways)
	}
	monitor := net.JoinHostPort("127.0.0.1", strconv.Itoa(options.HTTPPort))
	if check := service.Healthcheck; check == nil || !strings.Contains(strings.Join(check.Test, " "), "http://"+monitor+"/healthz") {
		t.Errorf("the healthcheck does not ask the monitoring port, http://%s/healthz", monitor)
	}
	for _, name := range []string{"coordinator", "worker"} {
		if got, want := readCompose(t).Services[name].Environment["BRAID_NATS_URL"], "nats://nats:"+strconv.Itoa(options.Port); got != want {
			t.Errorf("%s connects to %q, want %q", name, got, want)
		}
	}
}

func TestDockerfileAndComposeNameBinariesAndSettingsThatExist(t *testing.T) {
	sources := readTree(t)
	binaries, flags := make(map[string]bool), make(map[string]bool)
	for _, s := range sources {
		if binary, ok := strings.CutPrefix(s.pkg, "cmd/"); ok && !s.test {
			binaries[binary] = true
		}
		if !s.test && (below(s.pkg, "cmd") || below(s.pkg, "internal/daemon")) {
			maps.Copy(flags, s.literals())
		}
	}
	dockerfile := readFile(t, "Dockerfile")
	for _, binary := range matches(dockerfile, `(?m)^ENTRYPOINT \["/([a-z]+)"\]$`) {
		if !binaries[binary] {
			t.Errorf("the Dockerfile starts /%s, and there is no cmd/%s", binary, binary)
		}
		if !strings.Contains(dockerfile, "COPY --from=build /out/"+binary+" /"+binary+"\n") {
			t.Errorf("the Dockerfile starts /%s without copying it", binary)
		}
	}
	settings := matches(dockerfile, `(?m)^ENV (BRAID_[A-Z_]+)=`)
	for name, service := range readCompose(t).Services {
		settings = slices.AppendSeq(settings, maps.Keys(service.Environment))
		if service.Build != nil && !slices.Contains(matches(dockerfile, `(?m)^FROM base AS ([a-z]+)$`), service.Build.Target) {
			t.Errorf("%s is built from the target %q, which the Dockerfile has not", name, service.Build.Target)
		}
		if check := service.Healthcheck; check != nil && service.Build != nil && len(check.Test) > 2 {
			if flag := strings.TrimPrefix(check.Test[2], "--"); !flags[flag] {
				t.Errorf("the healthcheck of %s gives the flag --%s, which no binary has", name, flag)
			}
		}
	}
	for _, setting := range settings {
		flag, ours := strings.CutPrefix(setting, "BRAID_")
		flag = strings.ReplaceAll(strings.ToLower(flag), "_", "-")
		if ours && !flags[flag] {
			t.Errorf("%s is set, and no binary has the flag --%s", setting, flag)
		}
	}
}

func TestImagesRunAsNobodyInParticular(t *testing.T) {
	dockerfile := readFile(t, "Dockerfile")
	if users := matches(dockerfile, `(?m)^USER (.*)$`); len(users) == 0 || slices.ContainsFunc(users, func(u string) bool { return u == "root" || strings.HasPrefix(u, "0") }) {
		t.Errorf("users are %q; want numbers other than 0, as an image from scratch knows no names", users)
	}
	if bases := matches(dockerfile, `(?m)^FROM ([a-z]+) AS (?:coordinator|worker|braid)$`); !slices.Equal(bases, []string{"base", "base", "base"}) {
		t.Errorf("the images start from %q; want base, where the user is set", bases)
	}
}

func readCompose(t *testing.T) composeFile {
	t.Helper()
	var compose composeFile
	if err := yaml.Unmarshal([]byte(readFile(t, "docker-compose.yml")), &compose); err != nil {
		t.Fatalf("read docker-compose.yml: %v", err)
	}
	return compose
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// matches lists what a pattern's group matched in text.
func matches(text, pattern string) []string {
	var found []string
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}
