// Offers requests at a fixed rate for some time, regardless of their results, and counts the responses.

import { createLatencyHistogram, type LatencyHistogram } from '../report/latency-histogram.ts';
import type { HttpResponse } from './http-text.ts';
import type { HttpsConnections } from './https-connections.ts';
import { createArrivalTimes } from './request-schedule.ts';

export type LoadRequest = {
  /** As HTTP text. */
  text: string;
  /** Whether an answer is the right one: undefined, or a kind of error. */
  faultOf(answer: HttpResponse): string | undefined;
};

export type LoadStep = {
  ratePerSecond: number;
  seconds: number;
  /** Arrivals in this time before the window are sent but not counted. */
  leadSeconds?: number;
  /** When more requests wait than arrive in this time, nothing will ever be in time again. */
  hopelessSeconds?: number;
  random: () => number;
  request(): LoadRequest;
  /** When the part of the step that counts begins and ends. */
  onWindow(at: 'begin' | 'end', answered: number): void;
  /** The machine's own where none is given. */
  time?: LoadTime;
};

/** In milliseconds. */
export type LoadTime = { now(): number; pause(ms: number): Promise<void> };

export type StepResult = {
  offered: number;
  offeredPerSecond: number;
  achievedPerSecond: number;
  p50Us: number;
  p90Us: number;
  p99Us: number;
  p999Us: number;
  maxUs: number;
  errors: Record<string, number>;
  /** All answers, those before the window too. */
  answered: number;
  /** The step was ended before its time, since the requests that waited only grew in number. */
  givenUp: boolean;
};

/** After the window, what is still under way is waited for this long. */
const patienceMs = 5000;
const tickMs = 1;

type Waiting = LoadRequest & { dueMs: number };

/** A queue from which taking the first costs nothing. */
function createQueue<Item>() {
  let items: Item[] = [];
  let head = 0;
  return {
    put: (item: Item) => items.push(item),
    take(): Item | undefined {
      const item = items[head];
      head += 1;
      if (head >= items.length) {
        items = [];
        head = 0;
      }
      return item;
    },
    size: () => items.length - head,
  };
}

const machineTime: LoadTime = {
  now: () => performance.now(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

type Counts = { latencies: LatencyHistogram; offered: number; inWindow: number; all: number };

function resultOf(
  counts: Counts,
  errors: Map<string, number>,
  windowSeconds: number,
  givenUp: boolean,
): StepResult {
  const { latencies } = counts;
  return {
    offered: counts.offered,
    offeredPerSecond: counts.offered / windowSeconds,
    achievedPerSecond: counts.inWindow / windowSeconds,
    p50Us: latencies.percentileUs(50),
    p90Us: latencies.percentileUs(90),
    p99Us: latencies.percentileUs(99),
    p999Us: latencies.percentileUs(99.9),
    maxUs: latencies.maxUs(),
    errors: Object.fromEntries(errors),
    answered: counts.all,
    givenUp,
  };
}

/**
 * Runs one step. The latency of a request counts from the time at which it was due, so a server that
 * stops answering for a while is charged for every request that came due during that time.
 */
export async function runStep(exchange: HttpsConnections, step: LoadStep): Promise<StepResult> {
  const { ratePerSecond, seconds, leadSeconds = 1, hopelessSeconds = 1, time = machineTime } = step;
  const nextArrival = createArrivalTimes(ratePerSecond, step.random);
  const queue = createQueue<Waiting>();
  const errors = new Map<string, number>();
  const counts: Counts = { latencies: createLatencyHistogram(), offered: 0, inWindow: 0, all: 0 };
  const startMs = time.now();
  const fromMs = startMs + leadSeconds * 1000;
  const untilMs = fromMs + seconds * 1000;
  let underWay = 0;

  const isCounted = (dueMs: number) => dueMs >= fromMs && dueMs < untilMs;

  function fail(kind: string): void {
    errors.set(kind, (errors.get(kind) ?? 0) + 1);
  }

  function settle(waiting: Waiting, answer: HttpResponse | undefined, lost = 'lost'): void {
    underWay -= 1;
    const nowMs = time.now();
    const kind = answer === undefined ? lost : waiting.faultOf(answer);
    if (kind !== undefined) fail(kind);
    counts.all += 1;
    if (nowMs >= fromMs && nowMs < untilMs && kind === undefined) counts.inWindow += 1;
    if (isCounted(waiting.dueMs)) counts.latencies.record(nowMs - waiting.dueMs);
    drain();
  }

  function drain(): void {
    while (queue.size() > 0 && exchange.idle() > 0) {
      const waiting = queue.take();
      if (waiting === undefined) return;
      underWay += 1;
      exchange.send(waiting.text, (answer, lost) => settle(waiting, answer, lost));
    }
  }

  let dueMs = startMs + nextArrival();
  let hasBegun = false;
  let givenUp = false;
  for (let nowMs = startMs; nowMs < untilMs && !givenUp; nowMs = time.now()) {
    if (!hasBegun && nowMs >= fromMs) {
      hasBegun = true;
      step.onWindow('begin', counts.all);
    }
    for (; dueMs <= nowMs; dueMs = startMs + nextArrival()) {
      if (isCounted(dueMs)) counts.offered += 1;
      queue.put({ dueMs, ...step.request() });
    }
    drain();
    givenUp = queue.size() > ratePerSecond * hopelessSeconds;
    await time.pause(tickMs);
  }
  step.onWindow('end', counts.all);
  const endedMs = Math.min(time.now(), untilMs);
  if (givenUp) {
    fail('given up: the requests that waited only grew in number');
    for (let each = queue.take(); each !== undefined; each = queue.take()) {
      counts.latencies.record(endedMs - each.dueMs);
    }
  }
  const patientUntilMs = endedMs + patienceMs;
  while (underWay + queue.size() > 0 && time.now() < patientUntilMs) await time.pause(5);
  // What is not answered by now counts as an error, and with the longest latency; nor is it sent later.
  while (queue.take() !== undefined) underWay += 1;
  for (let remaining = underWay; remaining > 0; remaining -= 1) {
    fail('unanswered');
    counts.latencies.record(seconds * 1000 + patienceMs);
  }
  return resultOf(counts, errors, Math.max(0.001, (endedMs - fromMs) / 1000), givenUp);
}
