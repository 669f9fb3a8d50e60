// `bench captureall`: many authorised sales of one merchant are captured at once, while all continue to sell.
import { setTimeout as pause } from 'node:timers/promises';
import { defined } from '@switchyard/contract';
import type { BenchOptions } from '../bench-options.ts';
import type { CloseStack } from '../close-in-reverse-order.ts';
import { createApiClient, sendRequest, type Target } from '../environment/send-single-request.ts';
import { type Profile, profileStep } from '../report/profile-step.ts';
import type { BenchResult } from '../report/report.ts';
import { figure, listErrors, perSecond, seconds } from '../report/report-table.ts';
import { targets } from '../report/targets.ts';
import { median } from '../sales/find-knee.ts';
import { describeSalesStep, heldDefinition } from '../sales/knee-run.ts';
import type { MeasuredStep } from '../sales/load-generator.ts';
import type { PrintLine } from '../sales/measured-step.ts';
import {
  openSalesEnvironment,
  type SalesEnvironment,
  warmUpSales,
} from '../sales/sales-environment.ts';

type CaptureAllFigures = {
  items: number;
  /** From the request to the end of the batch. */
  captureSeconds: number;
  succeeded: number;
  failed: number;
  /** Steps of sales alone, and of sales during the batch. */
  before: MeasuredStep[];
  during: MeasuredStep[];
  p99BeforeUs: number;
  p99DuringUs: number;
  /** CPU time of the server for one capture, µs: the additional cost of the steps during the batch. */
  captureCpuUs: number;
  residentHighestMib: number;
  /** Of the captures and the sales beside them, for each capture. */
  profile?: Profile;
};

/** The platform sustains this rate for long. */
const holdsPerSecond = 600;
const holdsSecondsMax = 60;
const stepsBefore = 4;
const recentEntries = 10_000_000;
const pollMs = 200;
const batchPath = '/payment/v1/transactions/captureall';

type Batch = { batchId: string; state: string; total: number; succeeded: number; failed: number };
type Run = { environment: SalesEnvironment; options: BenchOptions; printLine: PrintLine };

/** The first merchant makes about so many authorised sales. */
async function makeHolds({ environment, options, printLine }: Run): Promise<void> {
  await environment.renewTokens(1);
  const atOnce = holdsPerSecond * holdsSecondsMax;
  for (let made = 0; made < options.items; ) {
    const some = Math.min(options.items - made, atOnce);
    const length = Math.max(1, Math.ceil(some / holdsPerSecond));
    const step = await environment.load.step('holds', holdsPerSecond, length);
    made += step.answered;
    printLine(`${made.toLocaleString('en')} authorised  ${describeSalesStep(step)}`);
  }
}

async function untilCompleted(target: Target, token: string, batchId: string): Promise<Batch> {
  for (;;) {
    const path = `${batchPath}/${batchId}?limit=1`;
    const { status, text } = await sendRequest(target, { path, token });
    // A busy server refuses lists before sales: the request is repeated.
    if (status !== 200 && status !== 503) throw new Error(`no batch: ${status} ${text}`);
    const batch = status === 200 ? (JSON.parse(text) as Batch) : undefined;
    if (batch?.state === 'Completed') return batch;
    await pause(pollMs);
  }
}

/** The end of the batch, and the sales that were measured completely during it. */
async function captureBeside({ environment, options, printLine }: Run) {
  const [merchant] = environment.organization.merchants;
  const token = environment.tokens.get(merchant?.merchantId ?? '') ?? '';
  const { target } = environment.server;
  const startedMs = performance.now();
  const { batchId } = await createApiClient(target, token).call('POST', batchPath, {});
  let endedMs: number | undefined;
  const completed = untilCompleted(target, token, String(batchId)).finally(() => {
    endedMs = performance.now();
  });
  // Its error is thrown where it is awaited.
  completed.catch(() => {});
  const during: MeasuredStep[] = [];
  const hasEnded = () => endedMs !== undefined;
  while (!hasEnded()) {
    const step = await environment.load.step('sales', options.rate, options.seconds);
    // The last one continues after the end, and counts where there is no other.
    if (!hasEnded() || during.length === 0) during.push(step);
    printLine(`beside the captures  ${describeSalesStep(step)}`);
  }
  const batch = await completed;
  return { batch, during, captureSeconds: ((endedMs ?? 0) - startedMs) / 1000 };
}

function report(figures: CaptureAllFigures, { rate, latency }: BenchOptions): BenchResult {
  const { items, captureSeconds, before, during, p99BeforeUs, p99DuringUs } = figures;
  const goals = targets.captureAll;
  // Fewer items have as much less time.
  const limitSeconds = (goals.captureSeconds * items) / goals.items;
  const growth = p99DuringUs / p99BeforeUs - 1;
  return {
    figures,
    profile: figures.profile,
    sections: [
      {
        title: `Capture of ${items.toLocaleString('en')} authorised sales of one merchant`,
        figures: [
          figure('from the request to the end', captureSeconds, 'seconds', {
            atMost: limitSeconds,
            // The host, not the platform, limits the rate if it answers late.
            isJudged: latency === 0,
          }),
          figure('captures', items / captureSeconds, 'perSecond'),
          figure(
            `captures in a minute over one connection, ${latency} ms until an answer`,
            Math.round((items * 60) / captureSeconds),
            'grouped',
            { atLeast: goals.perMinute },
          ),
          {
            label: 'captured, failed',
            value: `${figures.succeeded}, ${figures.failed}`,
            target: 'none failed',
            isReached: figures.succeeded === items,
          },
          figure('server for one capture', figures.captureCpuUs, 'microseconds'),
          figure('server at its highest', figures.residentHighestMib, 'mebibytes'),
        ],
      },
      {
        title: `Sales beside it, ${perSecond(rate)}; medians of the steps`,
        figures: [
          figure('p99 before', p99BeforeUs, 'milliseconds'),
          figure('p99 during', p99DuringUs, 'milliseconds'),
          figure('growth', growth, 'percent', { atMost: goals.p99GrowthShare }),
          { label: 'steps before, during', value: `${before.length}, ${during.length}` },
          { label: 'errors', value: listErrors([...before, ...during]) },
        ],
      },
    ],
    othersShare: Math.max(0, ...during.map(({ othersShare }) => othersShare)),
    notes: [heldDefinition],
  };
}

export async function benchCaptureAll(
  closers: CloseStack,
  options: BenchOptions,
  printLine: PrintLine,
): Promise<BenchResult> {
  const environment = await openSalesEnvironment(closers, options, recentEntries);
  const { platform, server } = environment;
  const run = { environment, options, printLine };
  await warmUpSales(environment.load, printLine);
  await makeHolds(run);
  await environment.renewTokens();
  // The same time to settle before each measurement.
  await environment.load.step('sales', options.rate, options.seconds);
  const before: MeasuredStep[] = [];
  while (before.length < stepsBefore) {
    const step = await environment.load.step('sales', options.rate, options.seconds);
    before.push(step);
    printLine(`before  ${describeSalesStep(step)}`);
  }
  let beside: Awaited<ReturnType<typeof captureBeside>> | undefined;
  const captured = async () => {
    beside = await captureBeside(run);
    return { answered: beside.batch.succeeded };
  };
  const profile = options.profile ? await profileStep(platform, server.pid, captured) : undefined;
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
  const figures = {
    items: batch.total,
    captureSeconds,
    succeeded: batch.succeeded,
    failed: batch.failed,
    before,
    during,
    p99BeforeUs: perStep(before, ({ p99Us }) => p99Us),
    p99DuringUs: perStep(during, ({ p99Us }) => p99Us),
    captureCpuUs: (perStep(during, cpuPerSecond) - perStep(before, cpuPerSecond)) / captures,
    residentHighestMib: server.memory.highest(),
    ...defined({ profile }),
  };
  return report(figures, options);
}
