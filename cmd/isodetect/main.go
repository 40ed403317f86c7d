// Command isodetect finds per-session isolation failures of MCP servers over HTTP
// in logs and traces.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/isodetect/isodetect/report"
	"github.com/isodetect/isodetect/verdict"
)

// exitKilled is the exit code after the second Ctrl-C.
const exitKilled = 130

func main() {
	os.Exit(Main())
}

// Main runs the program on the arguments and streams of the process and returns its exit code.
func Main() int {
	signal.Ignore(syscall.SIGPIPE) // a closed stdout shows as an error of the write, which is none
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupts
		stop()
		fmt.Fprintln(os.Stderr, "isodetect: interrupted: ending with what there is until now; interrupt again to stop at once")
		<-interrupts
		os.Exit(exitKilled)
	}()
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// run is the program as a function.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	from := origin{}
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) (err error) {
		from, err = resolve(c.Flags())
		return err
	}
	err := unknownCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	var code exitCode
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return verdict.ExitClean
	case errors.As(err, &code):
		return int(code)
	}
	lines := strings.Split(from.blame(err.Error()), "\n") // arguments and names of files stand in it as they are
	for i := range lines {
		lines[i] = report.Printable(lines[i])
	}
	fmt.Fprintf(stderr, "isodetect: %s\n", strings.Join(lines, "\n           "))
	return verdict.ExitError
}

// unknownCommand refuses a command that there is not also where its help is asked
// for: the help of the whole program would look like its own.
func unknownCommand(root *cobra.Command, args []string) error {
	help := func(a string) bool { return a == "-h" || a == "--help" }
	if len(args) < 2 || strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "_") || !slices.ContainsFunc(args[1:], help) {
		return nil
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	if c, _, err := root.Find(args); err == nil && c != root {
		return nil
	}
	return fmt.Errorf("unknown command %q for %q; see isodetect --help", args[0], root.Name())
}

// exitCode ends the program with a code other than 0 and no message.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// exit turns the outcome of a run into the error that a command returns.
func exit(code int) error {
	if code == 0 {
		return nil
	}
	return exitCode(code)
}
