package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dygmamba/dygmamba/client"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// strictly fills a struct from what was read of YAML. A field that the struct does not have is an error.
func strictly(t *testing.T, what string, from, into any) {
	t.Helper()
	raw, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// All metrics of the alert rules and of the dashboard are those of a server, and the rules are of Prometheus' form.
func TestDeployedMetrics(t *testing.T) {
	w := trainedRun(t)
	cmd, url := w.start(t, "--store", t.TempDir())
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if _, err := client.New(url).Score(t.Context(), client.Query{Src: "1", Dst: "2"}); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	exported := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+)[{ ]`).FindAllStringSubmatch(string(text), -1) {
		exported[m[1]] = true
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	documents, err := readYAML(deployed(t, "alerts.yml"))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	strictly(t, "alerts.yml", documents[0], &rules)
	named := regexp.MustCompile(`dygmamba_[a-z_]+`)
	metrics := named.FindAllString(deployed(t, "grafana.json"), -1)
	for _, rule := range rules.Groups[0].Rules {
		metrics = append(metrics, named.FindAllString(rule.Expr, -1)...)
		span, err := time.ParseDuration(rule.For)
		if rule.For != "" && (err != nil || span <= 0) || rule.Labels["severity"] == "" ||
			rule.Annotations["summary"] == "" || rule.Expr == "" || !balanced(rule.Expr) {
			t.Errorf("%+v: %v", rule, err)
		}
	}
	for _, status := range []string{"SERVING.md"} {
		raw, err := os.ReadFile(filepath.Join("../../docs", status))
		if err != nil {
			t.Fatal(err)
		}
		metrics = append(metrics, named.FindAllString(string(raw), -1)...)
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(metrics))) {
		if !exported[name] {
			t.Errorf("a server has no metric %s", name)
		}
	}
	if len(metrics) < 30 || len(exported) < 60 || !exported["dygmamba_request_seconds_bucket"] {
		t.Errorf("%d metrics are named, %d exported", len(metrics), len(exported))
	}
	routes := regexp.MustCompile(`route=~?\\?"([^"\\]+)`).FindAllStringSubmatch(deployed(t, "alerts.yml")+
		deployed(t, "grafana.json"), -1)
	for _, m := range routes {
		if !strings.Contains(string(text), `route="`+m[1]+`"`) {
			t.Errorf("a server has no route %q", m[1])
		}
	}
}

func balanced(text string) bool {
	for _, pair := range []string{"()", "[]", "{}"} {
		if strings.Count(text, pair[:1]) != strings.Count(text, pair[1:]) {
			return false
		}
	}
	return strings.Count(text, `"`)%2 == 0
}

// The dashboard has queries of its data source in panels that do not overlap.
func TestDeployedDashboard(t *testing.T) {
	var board struct {
		Title, UID string
		Panels     []struct {
			ID         int
			Title      string
			Datasource struct{ Type, UID string }
			GridPos    struct{ H, W, X, Y int }
			Targets    []struct{ RefID, Expr string }
		}
	}
	if err := json.Unmarshal([]byte(deployed(t, "grafana.json")), &board); err != nil {
		t.Fatal(err)
	}
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
			t.Errorf("%+v", p)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			if !balanced(target.Expr) || !strings.Contains(target.Expr, `instance=~"$instance"`) {
				t.Errorf("%s: %s", p.Title, target.Expr)
			}
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s and %s overlap", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// Parts of Kubernetes' objects that the manifests use, with the names of its API.
type (
	kubeMeta struct {
		Name                string
		Labels, Annotations map[string]string
	}
	kubeSelector struct{ MatchLabels map[string]string }
	kubeProbe    struct {
		HTTPGet                         struct{ Path, Port string }
		PeriodSeconds, FailureThreshold string
	}
	kubeContainer struct {
		Name, Image   string
		Command, Args []string
		Env           []struct {
			Name      string
			ValueFrom struct{ FieldRef struct{ FieldPath string } }
		}
		Ports                                       []struct{ Name, ContainerPort string }
		StartupProbe, ReadinessProbe, LivenessProbe *kubeProbe
		Resources                                   struct{ Requests, Limits map[string]string }
		SecurityContext                             struct {
			AllowPrivilegeEscalation, ReadOnlyRootFilesystem string
			Capabilities                                     struct{ Drop []string }
		}
		VolumeMounts []struct{ Name, MountPath, ReadOnly string }
	}
	kubePod struct {
		Metadata kubeMeta
		Spec     struct {
			TerminationGracePeriodSeconds, RestartPolicy string
			SecurityContext                              map[string]string
			Containers                                   []kubeContainer
			Volumes                                      []struct {
				Name                  string
				ConfigMap             *struct{ Name string }
				Secret                *struct{ SecretName string }
				EmptyDir              *struct{}
				PersistentVolumeClaim *struct{ ClaimName, ReadOnly string }
			}
		}
	}
	kubeSet struct {
		APIVersion, Kind string
		Metadata         kubeMeta
		Spec             struct {
			ServiceName, Replicas, PodManagementPolicy string
			UpdateStrategy                             struct{ Type string }
			Selector                                   kubeSelector
			Template                                   kubePod
			VolumeClaimTemplates                       []struct {
				Metadata kubeMeta
				Spec     struct {
					AccessModes []string
					Resources   struct{ Requests map[string]string }
				}
			}
		}
	}
	kubeService struct {
		APIVersion, Kind string
		Metadata         kubeMeta
		Spec             struct {
			Type, ClusterIP string
			Selector        map[string]string
			Ports           []struct{ Name, Port, TargetPort string }
		}
	}
	kubeBudget struct {
		APIVersion, Kind string
		Metadata         kubeMeta
		Spec             struct {
			MaxUnavailable string
			Selector       kubeSelector
		}
	}
	kubeConfig struct {
		APIVersion, Kind string
		Metadata         kubeMeta
		Data             map[string]string
	}
	kubeJob struct {
		APIVersion, Kind string
		Metadata         kubeMeta
		Spec             struct {
			Completions, Parallelism, CompletionMode, BackoffLimitPerIndex string
			Template                                                       kubePod
		}
	}
)

// The parts of the manifest are of the form of their kinds and fit each other.
func TestDeployedKubernetes(t *testing.T) {
	documents, err := readYAML(deployed(t, "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var set kubeSet
	var config kubeConfig
	var services []kubeService
	var budget kubeBudget
	for _, d := range documents {
		switch kind := d.(map[string]any)["kind"]; kind {
		case "StatefulSet":
			strictly(t, "StatefulSet", d, &set)
		case "ConfigMap":
			strictly(t, "ConfigMap", d, &config)
		case "Service":
			services = append(services, kubeService{})
			strictly(t, "Service", d, &services[len(services)-1])
		case "PodDisruptionBudget":
			strictly(t, "PodDisruptionBudget", d, &budget)
		default:
			t.Errorf("a %v", kind)
		}
	}
	if set.APIVersion != "apps/v1" || config.APIVersion != "v1" || budget.APIVersion != "policy/v1" ||
		len(services) != 2 {
		t.Errorf("%s, %s, %s, %d services", set.APIVersion, config.APIVersion, budget.APIVersion, len(services))
	}
	labels := set.Spec.Template.Metadata.Labels
	selectors := []map[string]string{set.Spec.Selector.MatchLabels, budget.Spec.Selector.MatchLabels}
	ports := checkPod(t, set.Spec.Template, "data", config.Metadata.Name)
	headless := false
	for _, s := range services {
		selectors = append(selectors, s.Spec.Selector)
		headless = headless || s.Metadata.Name == set.Spec.ServiceName && s.Spec.ClusterIP == "None"
		for _, p := range s.Spec.Ports {
			if p.TargetPort != "" && ports[p.TargetPort] == "" || p.TargetPort == "" && ports[p.Name] != p.Port {
				t.Errorf("service %s: port %+v", s.Metadata.Name, p)
			}
		}
	}
	for _, s := range selectors {
		if len(s) != 1 || s["app"] != labels["app"] {
			t.Errorf("the selector %v does not fit the labels %v", s, labels)
		}
	}
	if !headless || set.Spec.VolumeClaimTemplates[0].Metadata.Name != "data" {
		t.Errorf("service %s is not there, or no volume data", set.Spec.ServiceName)
	}
	settings := map[string]string{}
	for line := range strings.Lines(config.Data["serve.conf"]) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		settings[name] = value
	}
	if settings["listen"] != ":"+ports["http"] || settings["health-listen"] != ":"+ports["health"] {
		t.Errorf("%v, ports %v", settings, ports)
	}
	grace, err := strconv.Atoi(set.Spec.Template.Spec.TerminationGracePeriodSeconds)
	drain, err2 := time.ParseDuration(settings["drain-wait"])
	if err != nil || err2 != nil || float64(grace) < drain.Seconds()+30 {
		t.Errorf("%d s to end, %v of them to drain", grace, drain)
	}
	if out := program(t, "serve", "--help").out; !strings.Contains(out, "--config") {
		t.Error("no flag --config")
	}
}

// checkPod says whether mounts are of volumes, probes of ports, and paths those of a server. It returns the ports.
func checkPod(t *testing.T, pod kubePod, claims ...string) map[string]string {
	t.Helper()
	c := pod.Spec.Containers[0]
	volumes := slices.Clone(claims)
	for _, v := range pod.Spec.Volumes {
		volumes = append(volumes, v.Name)
		if v.ConfigMap != nil && !slices.Contains(claims, v.ConfigMap.Name) {
			t.Errorf("there is no ConfigMap %s", v.ConfigMap.Name)
		}
	}
	for _, m := range c.VolumeMounts {
		if !slices.Contains(volumes, m.Name) || !strings.HasPrefix(m.MountPath, "/") {
			t.Errorf("a mount %+v, with the volumes %v", m, volumes)
		}
	}
	ports := map[string]string{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for _, probe := range []*kubeProbe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if probe != nil && (ports[probe.HTTPGet.Port] == "" || !slices.Contains([]string{"/readyz", "/healthz"},
			probe.HTTPGet.Path)) {
			t.Errorf("a probe %+v", probe)
		}
	}
	if c.Image == "" || len(c.Command) > 0 { // the image has the program as its entry point, and no shell
		t.Errorf("image %q, command %q", c.Image, c.Command)
	}
	return ports
}

// The job of a study calls the program of the image, which has no shell, with flags that exist.
func TestDeployedJob(t *testing.T) {
	documents, err := readYAML(deployed(t, "study-job.yaml"))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	var job kubeJob
	strictly(t, "Job", documents[0], &job)
	checkPod(t, job.Spec.Template)
	args := job.Spec.Template.Spec.Containers[0].Args
	help := program(t, args[0], "--help").out
	for _, a := range args {
		if strings.HasPrefix(a, "--") && !strings.Contains(help, a+" ") {
			t.Errorf("%s has no flag %s", args[0], a)
		}
	}
	if shard := args[slices.Index(args, "--shard")+1]; shard != "$(SHARD)/"+job.Spec.Completions ||
		job.Spec.Template.Spec.Containers[0].Env[0].Name != "SHARD" {
		t.Errorf("shard %s of %s", shard, job.Spec.Completions)
	}
}

// The workers of the compose file know all brokers, each with a volume of its own.
func TestDeployedCompose(t *testing.T) {
	documents, err := readYAML(deployed(t, "queue-compose.yaml"))
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	var file struct {
		Broker   any `json:"x-broker"`
		Services map[string]struct {
			Image, Restart          string
			Command, Ports, Volumes []string
			DependsOn               []string `json:"depends_on"`
		}
		Volumes map[string]struct{}
	}
	strictly(t, "queue-compose.yaml", documents[0], &file)
	worker := file.Services["worker"]
	for name, s := range file.Services {
		if s.Image == "" || len(s.Volumes) == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if name == "worker" {
			continue
		}
		volume, _, _ := strings.Cut(s.Volumes[0], ":")
		if _, ok := file.Volumes[volume]; !ok || !slices.Contains(worker.DependsOn, name) ||
			!strings.Contains(strings.Join(worker.Command, " "), "nats://"+name+":4222") ||
			!slices.Contains(s.Command, name) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// The unit of systemd has settings that exist, and the image has all that its comment names.
func TestDeployedUnit(t *testing.T) {
	unit := deployed(t, "dygmamba.service")
	known := strings.Fields("Description Documentation After Wants Type NotifyAccess TimeoutStartSec WatchdogSec " +
		"ExecStartPre ExecStart ExecReload LoadCredential DynamicUser StateDirectory Restart RestartSec " +
		"TimeoutStopSec LimitNOFILE MemoryMax NoNewPrivileges ProtectSystem ProtectHome PrivateTmp PrivateDevices " +
		"ProtectKernelTunables ProtectKernelModules ProtectControlGroups RestrictAddressFamilies RestrictNamespaces " +
		"LockPersonality SystemCallArchitectures CapabilityBoundingSet WantedBy")
	for line := range strings.Lines(unit) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '[' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || !slices.Contains(known, name) {
			t.Errorf("%q is no setting of a unit", line)
		}
		if strings.HasPrefix(name, "ExecStart") &&
			!strings.HasPrefix(value, "/usr/local/bin/dygmamba serve --config ") {
			t.Errorf("%q", line)
		}
	}
	image := deployed(t, "Dockerfile")
	for _, part := range []string{"FROM scratch", "ca-certificates.crt /etc/ssl/certs/", "/empty-tmp /tmp",
		"USER 65532", `ENTRYPOINT ["/dygmamba"]`} {
		if !strings.Contains(image, part) {
			t.Errorf("the image lacks %q", part)
		}
	}
	flags := regexp.MustCompile(`--[a-z-]+`)
	help := program(t, "serve", "--help").out
	for _, flag := range flags.FindAllString(strings.Split(unit, "[Service]")[1], -1) {
		if !strings.Contains(help, flag) {
			t.Errorf("serve has no flag %s", flag)
		}
	}
}
