// A terminal and a till of the command line, as processes beside a started platform.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually } from '../../packages/server/test/support/wait-for-condition.ts';
import { repositoryRoot } from '../repository-root.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into documents of many shapes
export type Json = Record<string, any>;

export type RunningProcess = {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Lines of JSON that it has written. */
  jsonOutput(): Json[];
  /** Waits for its end; the exit code, null where a signal ended it. */
  ended(): Promise<number | null>;
  /** As Ctrl+C does: to the process and all that it has started. */
  interrupt(): void;
  /** SIGKILL, and waits. */
  kill(): Promise<void>;
};

export type ProcessResult = {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

const command = join(repositoryRoot, 'packages/cli/bin/switchyard.cjs');

function jsonIn(line: string): Json[] {
  try {
    return [JSON.parse(line) as Json];
  } catch {
    return [];
  }
}

/** Starts a process and keeps what it says. */
export function startProcess(
  file: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string = repositoryRoot,
): RunningProcess {
  const child = spawn(file, args, {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const closed = once(child, 'close');
  const signal = (name: NodeJS.Signals) => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, name);
  };
  return {
    child,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    jsonOutput: () => output.stdout.split('\n').flatMap(jsonIn),
    async ended() {
      await closed;
      return child.exitCode;
    },
    interrupt: () => signal('SIGINT'),
    async kill() {
      signal('SIGKILL');
      await closed;
    },
  };
}

/** `switchyard` of this clone, as `npx switchyard` runs it. */
export const runSwitchyard = (args: readonly string[], env: Readonly<Record<string, string>>) =>
  startProcess(process.execPath, [command, ...args], env);

/** Waits until a terminal with JSON output is connected. */
export const waitUntilOnline = (terminal: RunningProcess): Promise<void> =>
  eventually('the terminal is online', () => {
    if (terminal.child.exitCode !== null) throw new Error(terminal.stderr());
    return terminal
      .jsonOutput()
      .some(({ type, state }) => type === 'Cloud' && state === 'Connected');
  });
