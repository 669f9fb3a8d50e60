// Closes resources in the reverse order of their opening, however a tool ends.
import {
  type ChildProcess,
  type ForkOptions,
  fork,
  type SpawnOptions,
  spawn,
} from 'node:child_process';

export type CloseStack = {
  /** Adds a step that runs at the end; the last added first. A failed step does not stop the others. */
  add(close: () => unknown): void;
  /** A process that is stopped at the end. */
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
  const steps: (() => unknown)[] = [];
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
        process.stderr.write(`closing a resource failed: ${String(error)}\n`);
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
