// `bench captureall`: many authorised sales of one merchant are captured at once, while all sell on.
import { defined } from '@switchyard/contract';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { type BenchEnvironment, openBenchEnvironment } from '../environment/bench-environment.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import { perSecond, seconds } from '../report/report-table.ts';
import { median } from '../sales/find-knee.ts';
import { describeStep, type PrintLine } from '../sales/knee-run.ts';
import type { MeasuredStep } from '../sales/load-client.ts';

export type CaptureAllFigures = {
  items: number;
  /** From the request to the end of the batch. */
  captureSeconds: number;
  succeeded: number;
  failed: number;
  /** Steps of sales alone, and of sales while the batch ran. */
  before: MeasuredStep[];
  during: MeasuredStep[];
  p99BeforeUs: number;
  p99DuringUs: number;
  /** CPU time of the server for one capture, µs: what the steps cost more than those before. */
  captureCpuUs: number;
  residentHighestMib: number;
  /** Of the captures and the sales beside them, for each capture. */
  profile?: Profile;
};

const warmUp = [
  { ratePerSecond: 150, seconds: 12 },
  { ratePerSecond: 400, seconds: 8 },
];
/** Holds are made at a rate that the platform holds for long. */
const holdsPerSecond = 600;
const holdsSecondsMax = 60;
const stepsBefore = 4;
const recentEntries = 10_000_000;
const pollMs = 200;
const transactions = '/payment/v1/transactions';

type Batch = {
  batchId: string;
  state: string;
  total: number;
  succeeded: number;
  failed: number;
};

/** The first merchant makes so many authorised sales, some more or less. */
async function makeHolds(
  scene: BenchEnvironment,
  items: number,
  printLine: PrintLine,
): Promise<void> {
  await scene.renewTokens(1);
  const atOnce = holdsPerSecond * holdsSecondsMax;
  for (let made = 0; made < items; ) {
    const length = Math.max(1, Math.ceil(Math.min(items - made, atOnce) / holdsPerSecond));
    const step = await scene.load.step('holds', holdsPerSecond, length);
    made += step.answered;
    printLine(`${made.toLocaleString('en')} authorised  ${describeStep(step)}`);
  }
}

function merchantOf({ organization, tokens }: BenchEnvironment): string {
  const [merchant] = organization.merchants;
  return `Bearer ${tokens.get(merchant?.merchantId ?? '')}`;
}

async function startBatch(scene: BenchEnvironment): Promise<Batch> {
  const { status, text } = await scene.api.post(`${transactions}/captureall`, {
    'content-type': 'application/json',
    authorization: merchantOf(scene),
    text: '{}',
  });
  if (status !== 202) throw new Error(`no capture of all: ${status} ${text}`);
  return JSON.parse(text) as Batch;
}

async function untilCompleted(scene: BenchEnvironment, batchId: string): Promise<Batch> {
  for (;;) {
    const path = `${transactions}/captureall/${batchId}?limit=1`;
    const { status, text } = await scene.api.get(path, merchantOf(scene));
    // A busy server delays lists before sales: the request is repeated.
    if (status !== 200 && status !== 503) throw new Error(`no batch: ${status} ${text}`);
    const batch = status === 200 ? (JSON.parse(text) as Batch) : undefined;
    if (batch?.state === 'Completed') return batch;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** The end of the batch, and the sales that were measured wholly while it ran. */
async function captureBeside(scene: BenchEnvironment, options: BenchOptions, printLine: PrintLine) {
  const startedMs = performance.now();
  const { batchId } = await startBatch(scene);
  let endedMs: number | undefined;
  const completed = untilCompleted(scene, batchId).finally(() => {
    endedMs = performance.now();
  });
  // A fault of it is met where it is awaited.
  completed.catch(() => {});
  const during: MeasuredStep[] = [];
  const hasEnded = () => endedMs !== undefined;
  while (!hasEnded()) {
    const step = await scene.load.step('sales', options.rate, options.seconds);
    // The last one goes on after the end, and counts where there is no other.
    if (!hasEnded() || during.length === 0) during.push(step);
    printLine(`beside the captures  ${describeStep(step)}`);
  }
  const batch = await completed;
  return { batch, during, captureSeconds: ((endedMs ?? 0) - startedMs) / 1000 };
}

export async function benchCaptureAll(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<CaptureAllFigures> {
  const scene = await openBenchEnvironment(closers, { ...options, recentEntries });
  printLine('warming up …');
  for (const { ratePerSecond, seconds: length } of warmUp) {
    printLine(describeStep(await scene.load.step('sales', ratePerSecond, length)));
  }
  await makeHolds(scene, options.items, printLine);
  await scene.renewTokens();
  // The same time to come to rest before what is measured.
  await scene.load.step('sales', options.rate, options.seconds);
  const before: MeasuredStep[] = [];
  while (before.length < stepsBefore) {
    const step = await scene.load.step('sales', options.rate, options.seconds);
    before.push(step);
    printLine(`before  ${describeStep(step)}`);
  }
  let beside: Awaited<ReturnType<typeof captureBeside>> | undefined;
  const captured = async () => {
    beside = await captureBeside(scene, options, printLine);
    return { answered: beside.batch.succeeded };
  };
  const profile = options.profile ? await profileStep(scene, captured) : undefined;
  if (profile === undefined) await captured();
  if (beside === undefined) throw new Error('nothing was captured');
  const { batch, during, captureSeconds } = beside;
  printLine(`${batch.succeeded} captured in ${seconds(captureSeconds)}`);
  const perStep = (steps: MeasuredStep[], pick: (step: MeasuredStep) => number) =>
    median(steps.map(pick));
  const cpuPerSecond = ({ cpuUs, achievedPerSecond }: MeasuredStep) =>
    cpuUs.server * achievedPerSecond;
  const captures = batch.succeeded / captureSeconds;
  printLine(`captures: ${perSecond(captures)}`);
  return {
    items: batch.total,
    captureSeconds,
    succeeded: batch.succeeded,
    failed: batch.failed,
    before,
    during,
    p99BeforeUs: perStep(before, ({ p99Us }) => p99Us),
    p99DuringUs: perStep(during, ({ p99Us }) => p99Us),
    captureCpuUs: (perStep(during, cpuPerSecond) - perStep(before, cpuPerSecond)) / captures,
    residentHighestMib: scene.memory.highest(),
    ...defined({ profile }),
  };
}
