// Measures the codec of the built-in host tables in one process, beside JSON of the same messages.
import {
  builtInHosts,
  compileHost,
  createDeframer,
  createPlatformSamples,
  encodeFrame,
  Iso8583Error,
  sampleTime,
} from '../../../packages/iso8583/src/index.ts';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import type { BenchResult } from '../report/report.ts';
import { figure } from '../report/report-table.ts';
import type { PrintLine } from '../sales/measured-step.ts';
import { createRandom } from '../sales/request-schedule.ts';

/** One piece of work, and the work of JSON that it is compared with. */
type CodecCase = { name: string; work(): void; baseline(): void };

type CodecFigures = { name: string; nanoseconds: number; baselineNanoseconds: number };

const randomTexts = 64;
const randomBytes = 1024;
const chunkMessages = 16;
const callsPerTurn = 64;
/** Work and baseline alternate in turns of this length, so that a slower second of the machine slows both. */
const turnMs = 20;
const warmUpShare = 0.2;
const maxFrameBytes = 8192;

function casesOf(name: keyof typeof builtInHosts, random: () => number): CodecCase[] {
  const table = builtInHosts[name];
  const host = compileHost(table, { now: () => sampleTime });
  const { sale } = createPlatformSamples(table.messages);
  const bytes = host.encode(sale);
  const json = JSON.stringify(sale);
  const frame = encodeFrame(host.framing, bytes);
  const chunk = Buffer.concat(Array.from({ length: chunkMessages }, () => frame));
  const inputs = Array.from({ length: randomTexts }, () =>
    Buffer.from(Array.from({ length: randomBytes }, () => Math.floor(random() * 256))),
  );
  let next = 0;
  const decodeRandomBytes = () => {
    const input = inputs[next % randomTexts];
    next += 1;
    try {
      if (input !== undefined) host.decode(input);
    } catch (error) {
      if (!(error instanceof Iso8583Error)) throw error;
    }
  };
  const deframer = createDeframer(host.framing, { maxBytes: maxFrameBytes });
  const stringify = () => void Buffer.from(JSON.stringify(sale));
  const parse = () => void JSON.parse(json);
  return [
    { name: `${name}: encode a sale`, work: () => void host.encode(sale), baseline: stringify },
    { name: `${name}: decode a sale`, work: () => void host.decode(bytes), baseline: parse },
    { name: `${name}: decode 1 KB of random bytes`, work: decodeRandomBytes, baseline: parse },
    {
      name: `${name}: frame a sale`,
      work: () => void encodeFrame(host.framing, bytes),
      baseline: stringify,
    },
    {
      name: `${name}: cut ${chunkMessages} frames`,
      work: () => void deframer.push(chunk),
      baseline: parse,
    },
  ];
}

function measureTurn(work: () => void): { calls: number; ms: number } {
  const startedAt = performance.now();
  let calls = 0;
  let ms = 0;
  while (ms < turnMs) {
    for (let count = 0; count < callsPerTurn; count += 1) work();
    calls += callsPerTurn;
    ms = performance.now() - startedAt;
  }
  return { calls, ms };
}

const nanosecondsPerMs = 1e6;

/** The median turn, because another process may interrupt some of them. */
function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

function measure({ name, work, baseline }: CodecCase, forMs: number): CodecFigures {
  const workTimes: number[] = [];
  const baselineTimes: number[] = [];
  const startedAt = performance.now();
  while (performance.now() - startedAt < forMs) {
    for (const [each, times] of [
      [work, workTimes],
      [baseline, baselineTimes],
    ] as const) {
      const { calls, ms } = measureTurn(each);
      times.push((ms * nanosecondsPerMs) / calls);
    }
  }
  return { name, nanoseconds: median(workTimes), baselineNanoseconds: median(baselineTimes) };
}

const nanosecondsUnit = (value: number): string => `${Math.round(value).toLocaleString('en')} ns`;

export async function benchCodec(
  _closers: CloseStack,
  { seconds, seed }: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const random = createRandom(seed);
  const names = Object.keys(builtInHosts) as (keyof typeof builtInHosts)[];
  const measured = names
    .flatMap((name) => casesOf(name, random))
    .map((each) => {
      measure(each, seconds * 1000 * warmUpShare);
      const figures = measure(each, seconds * 1000);
      printLine(`${each.name}: ${nanosecondsUnit(figures.nanoseconds)}`);
      return figures;
    });
  return {
    figures: { cases: measured, seconds },
    sections: [
      {
        title: 'Time of each call',
        figures: measured.map(({ name, nanoseconds }) =>
          figure(name, nanoseconds, nanosecondsUnit),
        ),
      },
      {
        title: 'As a ratio to JSON of the same sale, in the same run',
        figures: measured.map(({ name, nanoseconds, baselineNanoseconds }) =>
          figure(name, nanoseconds / baselineNanoseconds, 'ratio'),
        ),
      },
    ],
    notes: [`each case for ${seconds} s, in one process`],
  };
}
