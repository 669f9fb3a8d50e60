// The calibration line: fixed work that uses no code of the platform, by which runs on different machines compare.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { median } from '../sales/find-knee.ts';

export type Calibration = {
  /** Fixed CPU work of one thread, ms. */
  cpuWorkMs: number;
  /** One byte to another process over a pipe, and back, µs. */
  pipeRoundTripUs: number;
};

/** Of each measurement; the median counts. */
const repetitions = 5;
const documents = 20_000;
const roundTrips = 2_000;
const echoScript = 'process.stdin.on("data", (bytes) => process.stdout.write(bytes))';

/** Writes, hashes and reads JSON: work of the kinds that a server of JSON does. */
function runCpuWork(): number {
  const startedMs = performance.now();
  let digest = '';
  for (let number = 0; number < documents; number += 1) {
    const items = Array.from({ length: 8 }, (_, index) => ({ index, amount: number * index }));
    const text = JSON.stringify({ number, digest, currency: 'EUR', items });
    digest = createHash('sha256').update(text).digest('hex');
    if (JSON.parse(text).number !== number) throw new Error('JSON was read wrongly');
  }
  return performance.now() - startedMs;
}

async function runRoundTrips({ stdin, stdout }: ChildProcess): Promise<number> {
  if (stdin === null || stdout === null) throw new Error('the echo process has no pipes');
  const startedMs = performance.now();
  for (let count = 0; count < roundTrips; count += 1) {
    stdin.write('.');
    await once(stdout, 'data');
  }
  return ((performance.now() - startedMs) * 1000) / roundTrips;
}

/** Takes about two seconds on an idle machine. */
export async function calibrate(): Promise<Calibration> {
  const echo = spawn(process.execPath, ['-e', echoScript], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const cpuTimes: number[] = [];
  const roundTripTimes: number[] = [];
  try {
    for (let count = 0; count < repetitions; count += 1) {
      cpuTimes.push(runCpuWork());
      roundTripTimes.push(await runRoundTrips(echo));
    }
  } finally {
    echo.stdin?.end();
    echo.kill();
  }
  return { cpuWorkMs: median(cpuTimes), pipeRoundTripUs: median(roundTripTimes) };
}
