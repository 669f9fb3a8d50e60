// Processes of a run: each offers functions by name, which the bench calls over Node's IPC.
import { fileURLToPath } from 'node:url';
import { type CloseStack, stopProcess } from './close-in-reverse-order.ts';

/** Longer than the longest step. */
const answerLimitMs = 3_600_000;

type Call = { name: string; request: unknown };
type Answer = { result: unknown } | { error: string };

// Each process has other functions; `never` accepts a request of any type.
type OfferedFunctions = Record<string, (request: never) => unknown>;

/** In the process itself: answers the calls of the bench, and ends with it. */
export function offerFunctions(functions: OfferedFunctions): void {
  const answer = async ({ name, request }: Call): Promise<Answer> => {
    try {
      return { result: await functions[name]?.(request as never) };
    } catch (error) {
      return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  process.on('message', (call: Call) => {
    void answer(call).then((message) => process.send?.(message));
  });
  process.on('disconnect', () => process.exit(0));
}

export type BenchProcess<Functions extends OfferedFunctions> = {
  pid: number;
  /** One call at a time. */
  call<Name extends keyof Functions & string>(
    name: Name,
    request: Parameters<Functions[Name]>[0],
  ): Promise<Awaited<ReturnType<Functions[Name]>>>;
  stop(): Promise<void>;
};

/**
 * Starts a script that offers functions.
 *
 * @example const load = startProcess<typeof functions>(closers, new URL('./load.ts', import.meta.url));
 */
export function startProcess<Functions extends OfferedFunctions>(
  closers: CloseStack,
  script: URL,
  nodeFlags: string[] = [],
): BenchProcess<Functions> {
  const path = fileURLToPath(script);
  const child = closers.fork(path, {
    execArgv: nodeFlags,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return {
    pid: child.pid ?? 0,
    call: (name, request) =>
      new Promise((resolve, reject) => {
        const fail = (reason: string) => finish({ error: `${path}: ${reason}` });
        const onExit = () => fail('the process ended');
        const limit = setTimeout(() => fail(`no answer to ${name}`), answerLimitMs);
        function finish(answer: Answer): void {
          clearTimeout(limit);
          child.off('message', finish);
          child.off('exit', onExit);
          if ('error' in answer) reject(new Error(answer.error));
          else resolve(answer.result as never);
        }
        child.on('message', finish);
        child.once('exit', onExit);
        child.send({ name, request } satisfies Call);
      }),
    stop: () => stopProcess(child),
  };
}
