// Kills a worker under load. Merchants of the other worker must not notice it.
import { setTimeout as pause } from 'node:timers/promises';
import { createCitusDatabase } from '../../../packages/server/test/support/database/citus-nodes.ts';
import { createCloseStack } from '../../bench/close-in-reverse-order.ts';
import type { Cluster } from './cluster.ts';
import { openDrillPlatform } from './drill-platform.ts';
import { type Answer, describeErrors, startSaleLoad, type Till } from './sale-load.ts';

const workers = 2;
const loopsPerWorker = 4;
const beforeMs = 4_000;
const downMs = 15_000;
const afterMs = 4_000;
/** A sale that was at the acquirer when the worker was killed tries to store its outcome for 15 s. */
const slowestMs = 16_000;
/** The longest time until the platform refuses a sale of the killed worker. */
const firstRefusalMs = 5_000;
/** Within this time after the start of the worker, all of its merchants sell again. */
const recoveryMs = 30_000;

type Times = { killedMs: number; restartedMs: number };

function findFaults(
  { killedSide, others }: { killedSide: readonly Answer[]; others: readonly Answer[] },
  { killedMs, restartedMs }: Times,
): string[] {
  const faults: string[] = [];
  const all = [...killedSide, ...others];
  const slowest = Math.max(...all.map(({ durationMs }) => durationMs));
  if (slowest > slowestMs) faults.push(`a request took ${(slowest / 1000).toFixed(1)} s`);
  const refusals = killedSide.filter(({ status }) => status === 503);
  const first = refusals.find(({ sentMs, durationMs }) => sentMs + durationMs > killedMs);
  const firstMs = first === undefined ? Number.POSITIVE_INFINITY : first.sentMs + first.durationMs;
  if (firstMs > killedMs + firstRefusalMs)
    faults.push(`no sale of the killed worker was refused within ${firstRefusalMs / 1000} s`);
  const withoutHeader = refusals.filter(({ hasRetryAfter }) => !hasRetryAfter).length;
  if (withoutHeader > 0) faults.push(`${withoutHeader} answers 503 without Retry-After`);
  const otherErrors = killedSide.filter(({ status }) => ![200, 202, 503].includes(status));
  if (otherErrors.length > 0) faults.push(`killed worker: ${describeErrors(otherErrors)}`);
  const disturbed = others.filter(({ isApproved }) => !isApproved);
  if (disturbed.length > 0) faults.push(`other worker: ${describeErrors(disturbed)}`);
  const during = ({ sentMs }: Answer) => sentMs > killedMs && sentMs < restartedMs;
  if (!others.some((answer) => during(answer) && answer.isApproved))
    faults.push('the other worker stored no sale while the killed worker was down');
  return faults;
}

function longestGapMs(answers: readonly Answer[]): number {
  const ends = answers
    .filter(({ isApproved }) => isApproved)
    .map(({ sentMs, durationMs }) => sentMs + durationMs)
    .sort((one, other) => one - other);
  return Math.max(0, ...ends.slice(1).map((end, index) => end - (ends[index] ?? end)));
}

/** @returns the faults */
export async function killWorker(cluster: Cluster): Promise<string[]> {
  const closers = createCloseStack();
  try {
    const nodes = await cluster.nodes(workers);
    const url = await createCitusDatabase(nodes);
    const platform = await openDrillPlatform(closers, cluster, url);
    const killed = await cluster.worker(1);
    const killedHost = new URL(killed.url).hostname;
    const killedSide: Till[] = [];
    const others: Till[] = [];
    for (const till of platform.tills) {
      const { host } = await platform.findShard(till.merchantId);
      (host === killedHost ? killedSide : others).push(till);
    }
    console.log(
      `  ${killedSide.length} merchants on the worker to kill, ${others.length} on the other`,
    );
    const loops = Array.from({ length: loopsPerWorker }, () => [killedSide, others]).flat();
    const load = startSaleLoad(platform.target, loops);
    closers.add(() => load.stop());
    await pause(beforeMs);
    await killed.kill();
    const killedMs = performance.now();
    // The other loops may all wait for the outcome of a sale that was at the acquirer.
    load.addLoop(killedSide);
    await pause(downMs);
    await killed.start();
    const restartedMs = performance.now();
    const soldAgain = () => {
      const sold = load.answers.filter((each) => each.isApproved && each.sentMs > restartedMs);
      const merchantIds = new Set(sold.map(({ merchantId }) => merchantId));
      return killedSide.every(({ merchantId }) => merchantIds.has(merchantId));
    };
    while (!soldAgain() && performance.now() < restartedMs + recoveryMs) await pause(100);
    const faults = soldAgain()
      ? []
      : [`not all merchants of the killed worker sell ${recoveryMs / 1000} s after its start`];
    const recoveredMs = performance.now() - restartedMs;
    await pause(afterMs);
    await load.stop();
    const killedIds = new Set(killedSide.map(({ merchantId }) => merchantId));
    const answers = {
      killedSide: load.answers.filter(({ merchantId }) => killedIds.has(merchantId)),
      others: load.answers.filter(({ merchantId }) => !killedIds.has(merchantId)),
    };
    const slowest = Math.max(...load.answers.map(({ durationMs }) => durationMs));
    console.log(
      `  killed worker: ${answers.killedSide.length} answers, errors: ${describeErrors(answers.killedSide)}`,
    );
    console.log(
      `  other worker: ${answers.others.length} answers, errors: ${describeErrors(answers.others)}, longest time without a sale ${(longestGapMs(answers.others) / 1000).toFixed(1)} s`,
    );
    console.log(
      `  slowest answer ${(slowest / 1000).toFixed(1)} s; all sell again ${(recoveredMs / 1000).toFixed(1)} s after the start`,
    );
    faults.push(...findFaults(answers, { killedMs, restartedMs }));
    faults.push(...(await platform.compareSums(load)));
    return faults;
  } finally {
    await closers.close();
  }
}
