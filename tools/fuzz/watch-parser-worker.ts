// Watches the thread that feeds the parsers: tells how far it is, and which input it never left.
import { Worker } from 'node:worker_threads';
import { type Report, targetOf, type Work } from './parser-worker.ts';
import { chanceOf } from './seeded-input.ts';

const lookEveryMs = 200;
/** Ten seconds, of which no parser needs a hundredth for one input; a machine that stands still for as long takes one look. */
const looksMost = 50;

export type Fuzzed = Report & { seed: number; inputs: number; durationMs: number };

type Order = {
  seed: number;
  inputs: number;
  /** The number of the first input; 0 without it. */
  from?: number;
  progress?: (done: number) => void;
};

/** @example const { finding } = await fuzz({ seed: 1, inputs: 1_000_000 }); */
export async function fuzz({ seed, inputs, from = 0, progress }: Order): Promise<Fuzzed> {
  const began = performance.now();
  const shared = new SharedArrayBuffer(4);
  const done = new Int32Array(shared);
  const work: Work = { seed, from, to: from + inputs, progress: shared };
  const worker = new Worker(new URL('./parser-worker.ts', import.meta.url), { workerData: work });
  let last = { at: -1, looks: 0 };
  const report = await new Promise<Report>((resolve, reject) => {
    const timer = setInterval(() => {
      const at = Atomics.load(done, 0);
      progress?.(at - from);
      last = at === last.at ? { at, looks: last.looks + 1 } : { at, looks: 0 };
      if (last.looks > looksMost) resolve(hung(seed, at));
    }, lookEveryMs);
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => clearInterval(timer));
  });
  await worker.terminate();
  return { ...report, seed, inputs, durationMs: performance.now() - began };
}

function hung(seed: number, index: number): Report {
  const fault = `no end after ${(looksMost * lookEveryMs) / 1000} s`;
  const target = targetOf(index);
  const input = target.make(chanceOf(seed, index)).toString('hex');
  return { tallies: [], finding: { index, target: target.name, fault, input } };
}
