package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/isodetect/isodetect/follow"
	"github.com/isodetect/isodetect/parsers"
	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/tail"
	"github.com/isodetect/isodetect/verdict"
	"github.com/isodetect/isodetect/verdict/gate"
)

// tailFlags are those of tail alone.
type tailFlags struct {
	in         inputFlags
	from       string
	checkpoint string
	fresh      bool
	formats    []string
	failOn     string
	baseline   string
	webhook    string
	secret     string
	perMinute  int
	retry      bool
	syslog     string
	listen     string
}

func newTail() *cobra.Command {
	var f tailFlags
	cmd := &cobra.Command{
		Use:   "tail [flags] PATH...",
		Short: "watch logs that grow and tell findings as they become certain",
		Long: `Watch server logs and wire JSONL beside a running server, through rotation and
restarts, and tell each finding once, as soon as it is certain, and again if it
becomes surer. PATH is a file that may not exist yet, a glob in quotes, or - for
standard input. With --checkpoint it goes on after a restart where it stopped;
only after a kill the last finding may come again, with the same occurrence.

It ends with 0 when it is told to stop (Ctrl-C, SIGTERM), with 2 if it cannot go
on. SIGHUP opens the files of --format, and the connection of --syslog, anew.`,
		Example: `  isodetect tail --checkpoint /var/lib/isodetect/state.db /var/log/notes/*.log
  isodetect tail --listen 127.0.0.1:9464 --webhook https://hooks.example/isodetect server.log`,
		Args: needPaths,
		RunE: func(c *cobra.Command, args []string) error {
			opt, err := f.options(c, args)
			if err != nil {
				return err
			}
			return watch(c, opt, f.listen)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.from, "from", "now", "where to begin without a checkpoint: `WHERE` is now, start, or a duration back such as 15m")
	fs.StringVar(&f.checkpoint, "checkpoint", "", "keep in `FILE` where the watch stands and what it knows")
	fs.BoolVar(&f.fresh, "fresh", false, "begin anew, whatever the checkpoint holds")
	fs.StringArrayVar(&f.formats, "format", []string{"text"}, "tell findings as `FMT[=FILE]`: text or jsonl, to FILE (appended) or standard output (repeatable)")
	fs.StringVar(&f.failOn, "fail-on", "probable", "what is told: `GATE` is a weakest strength, or signals or families")
	fs.StringVar(&f.baseline, "baseline", "", "`FILE` of known findings that are not told (see baseline)")
	fs.StringVar(&f.webhook, "webhook", "", "POST each finding as JSON to `URL`, at least once; needs --checkpoint")
	fs.StringVar(&f.secret, "webhook-secret", "", "`FILE` with the secret that signs what is posted (HMAC-SHA256)")
	fs.IntVar(&f.perMinute, "webhook-per-minute", 60, "post at most `N` findings a minute; more wait")
	fs.BoolVar(&f.retry, "webhook-retry", false, "post again what the receiver refused before and is kept aside")
	fs.StringVar(&f.syslog, "syslog", "", "send each finding to syslog at `ADDR`: /dev/log, udp://HOST:PORT or tcp://HOST:PORT (RFC 5424)")
	fs.StringVar(&f.listen, "listen", "", "serve /metrics, /healthz and /readyz at `ADDR`, such as 127.0.0.1:9464 or :9464")
	f.in.register(fs)
	for _, name := range scanOnly {
		fs.Lookup(name).Hidden = true
	}
	completeValues(cmd)
	return cmd
}

// scanOnly are flags for inputs that are read as a whole.
var scanOnly = []string{"join", "tls-keylog", "no-progress"}

func (f *tailFlags) options(c *cobra.Command, args []string) (tail.Options, error) {
	for _, name := range scanOnly {
		if c.Flags().Changed(name) {
			return tail.Options{}, fmt.Errorf("cannot use --%s: it is for scan, which reads inputs when they are complete", name)
		}
	}
	for _, name := range []string{"webhook-secret", "webhook-per-minute", "webhook-retry"} {
		if c.Flags().Changed(name) && f.webhook == "" {
			return tail.Options{}, fmt.Errorf("cannot use --%s without --webhook", name)
		}
	}
	o, err := f.in.options(args, c.InOrStdin())
	if err != nil {
		return tail.Options{}, err
	}
	parse, err := o.Parsers()
	if err != nil {
		return tail.Options{}, err
	}
	opt := tail.Options{
		Paths: args, Parsers: parse, Engine: o.Engine(),
		Report: report.Options{Version: version(), Reveal: f.in.reveal}, Checkpoint: f.checkpoint, Fresh: f.fresh,
		Follow: follow.Options{Stdin: c.InOrStdin()}, Clock: follow.System(), Gauges: tail.NewGauges(),
		Log: func(text string) { fmt.Fprintln(c.ErrOrStderr(), "isodetect: "+report.Printable(text)) },
	}
	if opt.Follow.From, err = follow.ParseFrom(f.from); err != nil {
		return opt, fmt.Errorf("cannot use --from %s: %w", quoted(f.from), err)
	}
	opt.Follow.Clock = opt.Clock
	opt.Follow.TimeOf = func(path string, written int64, line []byte) int64 {
		return parsers.LineTime(path, written, line, parse)
	}
	opt.Follow.Trouble = trouble(opt.Log)
	g, err := gate.Parse(f.failOn)
	if err == nil && g.Expression() {
		err = errors.New("an expression needs all findings; alert on the metrics instead (isodetect alerts)")
	}
	if err != nil {
		return opt, fmt.Errorf("cannot use --fail-on %s: %w", quoted(f.failOn), err)
	}
	opt.Verdict = verdict.Options{Gate: g}
	if f.baseline != "" {
		if opt.Verdict.Baseline, err = loadBaseline(f.baseline); err != nil {
			return opt, err
		}
	}
	if opt.Outputs, err = f.outputs(c.OutOrStdout(), args); err != nil {
		return opt, err
	}
	if f.syslog != "" {
		if opt.Syslog, err = tail.ParseSyslog(f.syslog); err != nil {
			return opt, fmt.Errorf("cannot use --syslog %s: %w", quoted(f.syslog), err)
		}
		opt.Syslog.Clock = opt.Clock
		opt.Syslog.Failed = func(err error) { opt.Log("syslog: " + err.Error()) }
	}
	opt.Webhook, err = f.hook(opt.Log)
	opt.Retry = f.retry
	return opt, err
}

func (f *tailFlags) outputs(stdout io.Writer, inputs []string) (outs []*tail.Output, err error) {
	specs, err := parseOutputs(f.formats, inputs)
	if err != nil {
		return nil, err
	}
	for _, s := range specs {
		if s.format != "text" && s.format != "jsonl" {
			return nil, fmt.Errorf("cannot tell findings as %s: use text or jsonl", s.format)
		}
		o := &tail.Output{JSON: s.format == "jsonl", File: s.file, Style: report.Style{Width: pipedWidth}}
		if s.file == "" {
			o.Style = style(stdout, f.in.color)
		}
		if err := o.Open(stdout); err != nil {
			return nil, err
		}
		outs = append(outs, o)
	}
	return outs, nil
}

func (f *tailFlags) hook(log func(string)) (*tail.Webhook, error) {
	if f.webhook == "" {
		return nil, nil
	}
	u, err := url.Parse(f.webhook)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("cannot use --webhook: give the address of a receiver, beginning with http:// or https://")
	}
	if f.checkpoint == "" {
		return nil, errors.New("cannot use --webhook without --checkpoint: what is not delivered yet must survive a restart")
	}
	if f.perMinute < 1 {
		return nil, errors.New("cannot use --webhook-per-minute: it must be 1 or more")
	}
	w := &tail.Webhook{URL: f.webhook, PerMinute: f.perMinute, Client: hookClient(), Clock: follow.System(),
		Failed: func(err error) { log("webhook: " + err.Error()) }}
	if f.secret != "" {
		if w.Secret, err = os.ReadFile(f.secret); err != nil {
			return nil, fmt.Errorf("cannot read the webhook's secret: %w", err)
		}
		if w.Secret = bytes.TrimSpace(w.Secret); len(w.Secret) == 0 {
			return nil, fmt.Errorf("cannot use --webhook-secret %s: the file is empty", quoted(f.secret))
		}
	}
	return w, nil
}

// trouble tells what keeps a source from being read, and that it is over.
func trouble(log func(string)) func(*follow.Source, error) {
	return func(s *follow.Source, err error) {
		if err != nil {
			log(s.Path + ": " + err.Error() + "; it is tried again")
			return
		}
		log(s.Path + ": can be read")
	}
}

// hookClient calls nobody but the address that was given: a redirect is an answer.
func hookClient() *http.Client {
	return &http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// What the garbage collector does for a watch, unless GOGC and GOMEMLIMIT say otherwise:
// it lives beside the server, and most of what it holds is sessions that stay.
const (
	tailGC     = 50        // percent of the live heap that may be garbage
	tailMemory = 224 << 20 // bytes that it tries to stay below
)

// collectGarbage sets the former and returns the latter, 0 where the user sets another.
func collectGarbage() int64 {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(tailGC)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return 0
	}
	return tailMemory
}

// watch runs a tail until the program is told to stop.
func watch(c *cobra.Command, opt tail.Options, listen string) error {
	opt.Memory = collectGarbage()
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	var served chan error
	if listen != "" {
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return fmt.Errorf("cannot serve metrics: %w", err)
		}
		served = make(chan error, 1)
		go func() { served <- opt.Gauges.Serve(ctx, l) }()
	}
	if hints, err := follow.NewHints(); err == nil { // without them it is looked every 250 ms
		defer hints.Close()
		opt.Follow.Wake = hints
	}
	t, err := tail.New(opt)
	if err != nil {
		return err
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
				if opt.Syslog != nil {
					opt.Syslog.Reopen()
				}
				for _, o := range opt.Outputs {
					if err := o.Open(c.OutOrStdout()); err != nil {
						opt.Log(err.Error())
					}
				}
			}
		}
	}()
	err = t.Run(ctx)
	if err == nil && ctx.Err() == nil { // the input is over
		err = t.End()
	}
	opt.Log(t.Summary())
	err = errors.Join(err, t.Close())
	cancel()
	if served != nil {
		err = errors.Join(err, <-served)
	}
	return err
}
