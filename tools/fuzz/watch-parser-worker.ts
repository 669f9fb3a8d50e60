// Watches the thread that runs the parsers: reports its progress, and the input at which it hangs.
import { Worker } from 'node:worker_threads';
import { type ParserReport, type ParserWork, targetOfInput } from './parser-worker.ts';
import { randomForInput } from './seeded-input.ts';

const pollMs = 200;
/** Ten seconds, of which no parser needs a hundredth for one input; a paused machine counts as one poll. */
const unchangedPollsMax = 50;

export type FuzzResult = ParserReport & { seed: number; inputs: number; durationMs: number };

type FuzzOptions = {
  seed: number;
  inputs: number;
  /** The number of the first input; 0 without it. */
  from?: number;
  progress?: (done: number) => void;
};

/** @example const { finding } = await fuzz({ seed: 1, inputs: 1_000_000 }); */
export async function fuzz({ seed, inputs, from = 0, progress }: FuzzOptions): Promise<FuzzResult> {
  const startedAt = performance.now();
  const shared = new SharedArrayBuffer(4);
  const done = new Int32Array(shared);
  const work: ParserWork = { seed, from, to: from + inputs, progress: shared };
  const worker = new Worker(new URL('./parser-worker.ts', import.meta.url), { workerData: work });
  let last = { at: -1, looks: 0 };
  const report = await new Promise<ParserReport>((resolve, reject) => {
    const timer = setInterval(() => {
      const at = Atomics.load(done, 0);
      progress?.(at - from);
      last = at === last.at ? { at, looks: last.looks + 1 } : { at, looks: 0 };
      if (last.looks > unchangedPollsMax) resolve(hangingReport(seed, at));
    }, pollMs);
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => clearInterval(timer));
  });
  await worker.terminate();
  return { ...report, seed, inputs, durationMs: performance.now() - startedAt };
}

function hangingReport(seed: number, index: number): ParserReport {
  const fault = `no end after ${(unchangedPollsMax * pollMs) / 1000} s`;
  const target = targetOfInput(index);
  const input = target.makeInput(randomForInput(seed, index)).toString('hex');
  return { tallies: [], finding: { index, target: target.name, fault, input } };
}
