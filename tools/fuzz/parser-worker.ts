// Runs inputs through the parsers in a thread of its own, so that one that hangs can be named.
import { parentPort, workerData } from 'node:worker_threads';
import { chipDataTargets } from './chip-data-target.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { iso8583Targets } from './iso8583-target.ts';
import { nexoTargets } from './nexo-target.ts';
import { randomForInput } from './seeded-input.ts';
import { trackDataTargets } from './track-data-target.ts';

const targets: readonly FuzzTarget[] = [
  ...iso8583Targets,
  ...chipDataTargets,
  ...trackDataTargets,
  ...nexoTargets,
];

export type ParserWork = { seed: number; from: number; to: number; progress: SharedArrayBuffer };
export type ParserTally = { name: string; read: number; refused: number };
/** An input that a parser did not bear; `input` in hexadecimal. */
export type Finding = { index: number; target: string; fault: string; input: string };
export type ParserReport = { tallies: ParserTally[]; finding?: Finding };

/** Of input number so: the parsers take turns. */
export const targetOfInput = (index: number): FuzzTarget =>
  targets[index % targets.length] as FuzzTarget;

export function runInputs({ seed, from, to, progress }: ParserWork): ParserReport {
  const currentIndex = new Int32Array(progress);
  const tallies = targets.map(({ name }) => ({ name, read: 0, refused: 0 }));
  // Millions of errors are made here, and where each came from is not asked.
  Error.stackTraceLimit = 0;
  for (let index = from; index < to; index += 1) {
    Atomics.store(currentIndex, 0, index);
    const target = targetOfInput(index);
    const input = target.makeInput(randomForInput(seed, index));
    const tally = tallies[index % targets.length];
    try {
      if (target.readInput(input)) (tally as ParserTally).read += 1;
      else (tally as ParserTally).refused += 1;
    } catch (error) {
      const finding = { index, target: target.name, fault: String(error) };
      return { tallies, finding: { ...finding, input: input.toString('hex') } };
    }
  }
  return { tallies };
}

parentPort?.postMessage(runInputs(workerData as ParserWork));
