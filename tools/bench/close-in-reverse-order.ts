// What has been opened is closed again in the reverse order, however the bench ends.
import {
  type ChildProcess,
  type ForkOptions,
  fork,
  type SpawnOptions,
  spawn,
} from 'node:child_process';

export type CloseStack = {
  /** Runs when the bench ends; the last added first. */
  add(close: () => Promise<unknown> | undefined): void;
  /** A process that is stopped with the bench. */
  spawn(command: string, args: readonly string[], options: SpawnOptions): ChildProcess;
  fork(script: string, options: ForkOptions): ChildProcess;
  close(): Promise<void>;
};

const politeMs = 15_000;

export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Asks a process to stop, and makes it stop if it does not. */
export async function stopProcess(child: ChildProcess): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const limit = setTimeout(() => child.kill('SIGKILL'), politeMs);
  await exited;
  clearTimeout(limit);
}

/** @example const closers = createCloseStack(); */
export function createCloseStack(): CloseStack {
  const steps: (() => Promise<unknown> | undefined)[] = [];
  const children = new Set<ChildProcess>();
  let closing: Promise<void> | undefined;

  function watch(child: ChildProcess): ChildProcess {
    children.add(child);
    child.once('exit', () => children.delete(child));
    steps.push(() => stopProcess(child));
    return child;
  }

  async function unwind(): Promise<void> {
    for (const step of steps.reverse()) {
      try {
        await step();
      } catch (error) {
        process.stderr.write(`bench: cleaning up: ${String(error)}\n`);
      }
    }
  }

  // The last resort, where nothing can be waited for any more.
  process.on('exit', () => {
    for (const child of children) child.kill('SIGKILL');
  });

  return {
    add: (close) => {
      steps.push(close);
    },
    spawn: (command, args, options) => watch(spawn(command, args, options)),
    fork: (script, options) => watch(fork(script, options)),
    close() {
      closing ??= unwind();
      return closing;
    },
  };
}
