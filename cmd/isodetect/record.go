package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/isodetect/isodetect/record"
	"github.com/isodetect/isodetect/report"
)

func newRecord() *cobra.Command {
	var (
		listen, upstream, out string
		force                 bool
		opt                   record.Options
	)
	cmd := &cobra.Command{
		Use:   "record [flags] --upstream URL -o FILE",
		Short: "record the traffic of a server as a reverse proxy",
		Long: `Stand in front of a server, pass everything on as it is, and write each HTTP
happening to FILE as wire JSONL, which scan reads and loses nothing of. Credentials
are stored as hashes; session ids and bodies are stored as they are.

It ends on an interrupt (Ctrl-C, SIGTERM) with exit code 0, or with 2 if it cannot
listen or write.`,
		Example: `  isodetect record --upstream http://127.0.0.1:8080 -o mcp.wire.jsonl
  isodetect record --listen 127.0.0.1:9000 --upstream http://127.0.0.1:8080 -o - | gzip > mcp.wire.jsonl.gz`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			u, err := url.Parse(upstream)
			if err != nil || upstream == "" {
				return fmt.Errorf("cannot use --upstream %q: name the server, such as http://127.0.0.1:8080", upstream)
			}
			if err := record.CheckUpstream(u); err != nil {
				return err
			}
			if out == "" {
				return errors.New("no output: name a file with -o FILE, or - for standard output")
			}
			if _, err := strconv.ParseUint(listen, 10, 16); err == nil {
				return fmt.Errorf("cannot listen on %q: use host:port, such as 127.0.0.1:%s, or :%s", listen, listen, listen)
			}
			ln, err := net.Listen("tcp", loopbackFirst(listen))
			if err != nil {
				return fmt.Errorf("cannot listen on %q: %w", listen, err)
			}
			defer ln.Close()
			if _, port, err := net.SplitHostPort(ln.Addr().String()); err == nil && record.Loopback(u.Hostname()) && u.Port() == port {
				return fmt.Errorf("cannot use --upstream %s: it is the address that is listened on", u)
			}
			w, done, err := recordingFile(out, force, c.OutOrStdout())
			if err != nil {
				return err
			}
			opt.Unreached = firstUnreached(c.ErrOrStderr(), u)
			opt.Upstream, opt.Out, opt.Creator = u, w, "isodetect record "+version()
			r, err := record.New(opt)
			if err != nil {
				return errors.Join(err, done())
			}
			fmt.Fprintf(c.ErrOrStderr(), "isodetect: recording http://%s -> %s; interrupt to end\n", ln.Addr(), report.Printable(u.String()))
			if path := strings.TrimSuffix(u.Path, "/"); path != "" {
				fmt.Fprintf(c.ErrOrStderr(), "isodetect: --upstream has a path: what clients ask for is put behind it, so that /x is %s/x at the server\n", report.Printable(path))
			}
			err = r.Serve(c.Context(), ln)
			if e := done(); err == nil {
				err = e
			}
			fmt.Fprintf(c.ErrOrStderr(), "isodetect: recorded %s\n", recorded(r.Exchanges(), r.Unreached()))
			return err
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&upstream, "upstream", "", "`URL` of the server to record")
	fs.StringVar(&listen, "listen", "127.0.0.1:8931", "`ADDR` where clients connect, host:port; without a host only this machine can; port 0 takes a free one")
	fs.StringVarP(&out, "output", "o", "", "`FILE` to write, - for standard output; a file that exists is refused")
	fs.BoolVar(&force, "force", false, "overwrite FILE if it exists")
	fs.BoolVar(&opt.Reveal, "reveal", false, "store credentials as they are (no environment variable sets this)")
	fs.SetAnnotation("reveal", byHand, []string{"true"})
	fs.BoolVar(&opt.KeepHost, "keep-host", false, "pass the Host header on also where it names this recorder")
	fs.BoolVar(&opt.BehindProxy, "behind-proxy", false, "clients come through a proxy: do not take its address for theirs")
	return cmd
}

// firstUnreached returns what tells w the first time that the server cannot be
// reached. The recording holds every time.
func firstUnreached(w io.Writer, u *url.URL) func(error) {
	var once sync.Once
	return func(err error) {
		once.Do(func() {
			fmt.Fprintf(w, "isodetect: cannot reach %s: %s; clients get 502\n", report.Printable(u.String()), report.Printable(err.Error()))
		})
	}
}

// recorded tells how many exchanges a recording holds.
func recorded(n, unreached int64) string {
	text := strconv.FormatInt(n, 10) + " exchanges"
	if n == 1 {
		text = "1 exchange"
	}
	if unreached > 0 {
		text += fmt.Sprintf(", %d of them for which the server could not be reached", unreached)
	}
	return text
}

// loopbackFirst makes an address without a host one of this machine only.
func loopbackFirst(addr string) string {
	if strings.HasPrefix(addr, ":") {
		return "127.0.0.1" + addr
	}
	return addr
}

// recordingFile opens the output. Only its owner may read it: it holds session ids.
func recordingFile(name string, force bool, stdout io.Writer) (w io.Writer, done func() error, err error) {
	if name == "-" {
		return stdout, func() error { return nil }, nil
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flag = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(name, flag, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, nil, fmt.Errorf("cannot record to %s: it exists; choose another name, or --force to overwrite it", name)
	case err != nil:
		return nil, nil, fmt.Errorf("cannot record: %w", err)
	}
	return f, func() error {
		if err := f.Close(); err != nil {
			return fmt.Errorf("cannot write the recording: %w", err)
		}
		return nil
	}, nil
}
