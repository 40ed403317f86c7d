package tail

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isodetect/isodetect/follow"
	"github.com/isodetect/isodetect/report"
)

// The crash test runs the watch as a process of its own, which is this test binary
// again: it waits on its standard input after each turn and is killed with SIGKILL
// wherever it is.

const childEnv = "ISODETECT_TEST_TAIL"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if err := child(strings.Split(os.Getenv(childEnv), " ")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// lockstep lets the parent say when a turn of the loop may begin.
type lockstep struct {
	now time.Time
	in  *bufio.Reader
}

func (c *lockstep) Now() time.Time { return c.now }

func (c *lockstep) Wait(_ context.Context, d time.Duration) {
	c.now = c.now.Add(d)
	fmt.Println("turn")
	if _, err := c.in.ReadByte(); err != nil {
		os.Exit(0) // the parent went away
	}
}

// child watches args[0] with the checkpoint args[1] and the receiver args[2], and tells
// findings to a file, too.
func child(args []string) error {
	clock := &lockstep{now: time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC), in: bufio.NewReader(os.Stdin)}
	out := &Output{JSON: true, File: args[1] + ".jsonl"}
	if err := out.Open(nil); err != nil {
		return err
	}
	w, err := New(Options{
		Outputs: []*Output{out}, Paths: args[:1], Follow: follow.Options{From: follow.From{Start: true}, Clock: clock}, Clock: clock, Checkpoint: args[1],
		Webhook: &Webhook{URL: args[2], Secret: []byte("secret"), Client: http.DefaultClient, Clock: follow.System()},
		Report:  report.Options{Version: "test"}, Log: func(string) {},
	})
	if err != nil {
		return err
	}
	return w.Run(context.Background())
}

// receiver is what a webhook calls. It knows a message that comes again by its key.
type receiver struct {
	mu     sync.Mutex
	bodies map[string]string
	again  int
	wrong  []string
	came   chan struct{}
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	key := req.Header.Get("Idempotency-Key")
	old, known := r.bodies[key]
	switch {
	case err != nil:
		return // the sender was killed
	case req.Header.Get("X-Isodetect-Signature") != Signature([]byte("secret"), body):
		r.wrong = append(r.wrong, key+": signature")
	case known && old != string(body):
		r.wrong = append(r.wrong, key+": two bodies")
	case known:
		r.again++
	}
	r.bodies[key] = string(body)
	select {
	case r.came <- struct{}{}:
	default:
	}
}

func (r *receiver) keys() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.bodies))
}

// process is one run of the watch.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err *strings.Builder
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(args, " "))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, in: in, out: bufio.NewScanner(out), err: &strings.Builder{}}
	cmd.Stderr = p.err
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// turn lets one turn begin and waits for its end, unless the process is to be killed in it.
func (p *process) turn(t *testing.T) {
	t.Helper()
	p.in.Write([]byte{'\n'})
	if !p.out.Scan() {
		p.cmd.Wait()
		t.Fatalf("the watch ended: %s", p.err)
	}
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// crash writes a log while a watch is killed again and again, and returns the keys
// that the receiver got.
func crash(t *testing.T, kills int, seed uint64) (*receiver, []string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	dir := t.TempDir()
	path, db := filepath.Join(dir, "grow.jsonl"), filepath.Join(dir, "state.db")
	r := &receiver{bodies: map[string]string{}, came: make(chan struct{}, 1)}
	srv := httptest.NewServer(r)
	defer srv.Close()
	const pairs = 20
	lines := bleeding(pairs).lines
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p := start(t, path, db, srv.URL)
	if !p.out.Scan() {
		t.Fatalf("the watch did not begin: %s", p.err)
	}
	killed, written, rotated, since := 0, 0, 0, 0
	for written < len(lines) || killed < kills {
		n := min(len(lines)-written, rng.IntN(2+2*len(lines)/max(kills, 40)))
		if n > 0 {
			f.WriteString(strings.Join(lines[written:written+n], "\n") + "\n")
			written += n
		}
		if killed < kills && rng.IntN(2) == 0 {
			if rng.IntN(2) == 0 {
				p.in.Write([]byte{'\n'}) // somewhere in the turn
			}
			p.kill()
			killed++
			if fresh := written - since; fresh > 0 && written < len(lines) && rng.IntN(4) == 0 { // rotated while nobody watches
				f.Close()
				for n := rotated; n > 0; n-- {
					os.Rename(fmt.Sprintf("%s.%d", path, n), fmt.Sprintf("%s.%d", path, n+1))
				}
				rotated++
				since = written
				os.Rename(path, path+".1")
				if f, err = os.Create(path); err != nil {
					t.Fatal(err)
				}
			}
			p = start(t, path, db, srv.URL)
			if !p.out.Scan() {
				t.Fatalf("the watch did not begin again: %s", p.err)
			}
			continue
		}
		p.turn(t)
	}
	for range 60 { // so long that nothing waits any more
		p.turn(t)
	}
	for len(r.keys()) < pairs {
		<-r.came
	}
	p.kill()
	r.wrong = append(r.wrong, toldTwice(t, db+".jsonl", r.bodies, kills)...)
	return r, r.keys()
}

// toldTwice compares the file of findings with what the receiver got: each is there, and
// again only as often as a process was killed.
func toldTwice(t *testing.T, path string, bodies map[string]string, kills int) (wrong []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	times, again := map[string]int{}, 0
	for line := range strings.Lines(string(text)) {
		if times[strings.TrimSuffix(line, "\n")]++; times[strings.TrimSuffix(line, "\n")] > 1 {
			again++
		}
	}
	for key, body := range bodies {
		if times[strings.TrimSuffix(body, "\n")] == 0 {
			wrong = append(wrong, key+" is not in the file")
		}
	}
	if len(times) != len(bodies) || again > kills {
		wrong = append(wrong, fmt.Sprintf("the file has %d findings, %d of them again", len(times), again))
	}
	return wrong
}

// However often the process is killed, the receiver gets each finding; what comes
// again, because the process died between answer and note, has the same key and body.
func TestKilledAgainAndAgain(t *testing.T) {
	kills := 20
	if n, err := strconv.Atoi(os.Getenv("ISODETECT_TEST_KILLS")); err == nil {
		kills = n
	}
	_, want := crash(t, 0, 1)
	r, got := crash(t, kills, 2)
	if !slices.Equal(got, want) {
		t.Errorf("got %d findings\n%s\nwant %d\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
	if len(r.wrong) > 0 {
		t.Error(r.wrong)
	}
	if r.again > kills {
		t.Errorf("%d messages came again after %d kills", r.again, kills)
	}
	t.Logf("%d kills, %d findings, %d came again", kills, len(got), r.again)
}
