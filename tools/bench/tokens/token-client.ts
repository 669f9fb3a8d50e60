// The bench's end of the token load and of its bare line: starts them, asks, and prices the answers.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FromTokenBaseline, ToTokenBaseline } from '../baseline/token-baseline-process.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { type CpuTimes, cpuBetween, readCpu } from '../report/process-times.ts';
import type { FromTokenLoad, TokenCounts, TokenLoadOrder, ToTokenLoad } from './token-messages.ts';

const overtimeMs = 60_000;
const startLimitMs = 15_000;

export type TokenRun = {
  /** Of the process that gave them, user and system, over all its threads. */
  tokensPerCpuSecond: number;
  tokensPerSecond: number;
  /** CPU time per token, µs. */
  cpuUs: { server: number; postgres: number; load: number };
  errors: Record<string, number>;
  othersShare: number;
};

export type TokenLoad = {
  run(
    work: TokenLoadOrder,
    seconds: number,
    pids: { server: number; postgres: number },
  ): Promise<TokenRun>;
  /** Each form once, at a path of its own. */
  once(work: TokenLoadOrder, paths: string[]): Promise<TokenCounts>;
};

type Window = { cpu: CpuTimes; answered: number };

function price(begin: Window | undefined, end: Window | undefined, seconds: number) {
  if (begin === undefined || end === undefined) throw new Error('the token load told no window');
  const spent = cpuBetween(begin.cpu, end.cpu);
  const answered = end.answered - begin.answered;
  const each = (ms: number) => (answered === 0 ? 0 : (ms * 1000) / answered);
  const cpuUs = {
    server: each(spent.server),
    postgres: each(spent.postgres),
    load: each(spent.load),
  };
  return {
    tokensPerCpuSecond: cpuUs.server === 0 ? 0 : 1_000_000 / cpuUs.server,
    tokensPerSecond: answered / seconds,
    cpuUs,
    othersShare: Math.max(0, spent.others / spent.totalMs),
  };
}

export function startTokenLoad(closers: CloseStack): TokenLoad {
  const script = fileURLToPath(new URL('./token-load.ts', import.meta.url));
  const child = closers.fork(script, {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const load = child.pid ?? 0;

  function sendMessage(
    message: ToTokenLoad,
    limitMs: number,
    onWindow: (at: 'begin' | 'end', answered: number) => void = () => {},
  ): Promise<TokenCounts> {
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => end(new Error('the token load does not answer')), limitMs);
      const onExit = () => end(new Error('the token load has died'));
      function end(fault: Error | undefined, counts?: TokenCounts): void {
        clearTimeout(limit);
        child.off('message', onMessage);
        child.off('exit', onExit);
        if (fault !== undefined || counts === undefined) reject(fault);
        else resolve(counts);
      }
      function onMessage(answer: FromTokenLoad): void {
        if (answer.type === 'window') onWindow(answer.at, answer.answered);
        if (answer.type === 'result') end(undefined, answer);
        if (answer.type === 'fault') end(new Error(`token load: ${answer.text}`));
      }
      child.on('message', onMessage);
      child.once('exit', onExit);
      child.send(message);
    });
  }

  return {
    async run(work, seconds, pids) {
      const windows: Partial<Record<'begin' | 'end', Window>> = {};
      const counts = await sendMessage(
        { type: 'run', work, seconds },
        seconds * 1000 + overtimeMs,
        (at, answered) => {
          windows[at] = { cpu: readCpu({ ...pids, simulator: 0, load }), answered };
        },
      );
      return { ...price(windows.begin, windows.end, seconds), errors: counts.errors };
    },
    once: (work, paths) => sendMessage({ type: 'once', work, paths }, overtimeMs * 5),
  };
}

export type TokenBaseline = { pid: number; port: number };

/** Over TLS with the certificate of the server under test. */
export async function startTokenBaseline(
  closers: CloseStack,
  dataDir: string,
): Promise<TokenBaseline> {
  const script = fileURLToPath(new URL('../baseline/token-baseline-process.ts', import.meta.url));
  const child = closers.fork(script, {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const port = await new Promise<number>((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error('no bare line of tokens')), startLimitMs);
    child.once('exit', () => reject(new Error('the bare line of tokens has ended')));
    child.once('message', (answer: FromTokenBaseline) => {
      clearTimeout(limit);
      if (answer.type === 'listening') resolve(answer.port);
      else reject(new Error(`bare line of tokens: ${answer.text}`));
    });
    const files: ToTokenBaseline = {
      certFile: join(dataDir, 'tls', 'server.pem'),
      keyFile: join(dataDir, 'tls', 'server-key.pem'),
    };
    child.send(files);
  });
  return { pid: child.pid ?? 0, port };
}
