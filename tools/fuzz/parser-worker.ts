// Runs inputs through the parsers in a thread of its own, so that one that hangs can be named.
import { parentPort, workerData } from 'node:worker_threads';
import { chipTargets } from './chip-data-target.ts';
import type { Target } from './fuzz-target.ts';
import { messageTargets } from './iso8583-target.ts';
import { nexoTargets } from './nexo-target.ts';
import { chanceOf } from './seeded-input.ts';
import { trackTargets } from './track-data-target.ts';

const targets: readonly Target[] = [
  ...messageTargets,
  ...chipTargets,
  ...trackTargets,
  ...nexoTargets,
];

export type Work = { seed: number; from: number; to: number; progress: SharedArrayBuffer };
export type Tally = { name: string; read: number; refused: number };
/** An input that a parser did not bear; `input` in hexadecimal. */
export type Finding = { index: number; target: string; fault: string; input: string };
export type Report = { tallies: Tally[]; finding?: Finding };

/** Of input number so: the parsers take turns. */
export const targetOf = (index: number): Target => targets[index % targets.length] as Target;

export function runInputs({ seed, from, to, progress }: Work): Report {
  const done = new Int32Array(progress);
  const tallies = targets.map(({ name }) => ({ name, read: 0, refused: 0 }));
  // Millions of errors are made here, and where each came from is not asked.
  Error.stackTraceLimit = 0;
  for (let index = from; index < to; index += 1) {
    Atomics.store(done, 0, index);
    const target = targetOf(index);
    const input = target.make(chanceOf(seed, index));
    const tally = tallies[index % targets.length];
    try {
      if (target.reads(input)) (tally as Tally).read += 1;
      else (tally as Tally).refused += 1;
    } catch (error) {
      const finding = { index, target: target.name, fault: String(error) };
      return { tallies, finding: { ...finding, input: input.toString('hex') } };
    }
  }
  return { tallies };
}

parentPort?.postMessage(runInputs(workerData as Work));
