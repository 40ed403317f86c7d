// Command mutants asks of every condition in the rules whether a scenario or a
// recorded case would turn red without it. It compiles the tests once with all
// mutants inside, through `go test -overlay`, and runs them once per mutant.
//
//	go run ./rules/mutants [-time 12m] [-seed 1] [-only REGEXP] [-list]
//
// A mutant that no test notices is a survivor: a condition without a scenario,
// a bound that no scenario can reach, or a condition that another one implies.
// Nothing in the tree is written.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	budget := flag.Duration("time", 12*time.Minute, "how long to run mutants")
	seed := flag.Uint64("seed", 1, "order in which mutants are taken, for a sample")
	only := flag.String("only", "", "take only mutants whose description matches this regular expression")
	list := flag.Bool("list", false, "list the mutants and run none")
	flag.Parse()
	if err := run(*budget, *seed, *only, *list); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(budget time.Duration, seed uint64, only string, list bool) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("cannot read -only: %w", err)
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	files, all, err := instrumentAll(root, targets)
	if err != nil {
		return err
	}
	var chosen []Mutant
	for _, m := range all {
		if match.MatchString(m.String()) {
			chosen = append(chosen, m)
		}
	}
	if list {
		for _, m := range chosen {
			fmt.Println(m)
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return fmt.Errorf("cannot make a working directory: %w", err)
	}
	defer os.RemoveAll(dir)
	tests, err := build(root, dir, files)
	if err != nil {
		return err
	}
	if err := tests.baseline(dir); err != nil {
		return err
	}
	rand.New(rand.NewPCG(seed, seed)).Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	// Ctrl-C ends the sample early.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	report(os.Stdout, tests.runAll(ctx, chosen), len(chosen))
	return nil
}
