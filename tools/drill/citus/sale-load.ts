// A load of keyed sales. Each sale is repeated with the same identifier until it has an outcome, as a till does.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { keyedSale } from '../../../packages/server/test/support/keyed-sale.ts';
import { sendRequest, type Target } from '../../bench/environment/send-single-request.ts';

export type Till = {
  readonly merchantId: string;
  readonly token: string;
  readonly deviceIds: readonly string[];
};

export type Answer = {
  readonly merchantId: string;
  /** Of performance.now(). */
  readonly sentMs: number;
  readonly durationMs: number;
  /** 0 for a request without an answer. */
  readonly status: number;
  /** The state of the sale, the error code, or the reason of a missing answer. */
  readonly code: string;
  readonly hasRetryAfter: boolean;
  readonly isApproved: boolean;
};

export type Load = {
  readonly answers: readonly Answer[];
  /** The sum of the approved sales, minor units. */
  approvedMinor(): number;
  /** Adds a loop to those that run. */
  addLoop(tills: readonly Till[]): void;
  /** Sales without an outcome; complete after the stop. */
  readonly unfinished: readonly string[];
  /** Ends when each sale that has begun has its outcome. */
  stop(): Promise<void>;
};

/** Longer than a request may take, so that a server that hangs is seen as such. */
const answerLimitMs = 40_000;
const repeatPauseMs = 500;
const saleLimitMs = 90_000;
/** Below 9000, where the acquirer simulator approves every amount. */
const amountsMax = 8999;

const amountOfSale = () => 1 + Math.floor(Math.random() * amountsMax);

async function sendSale(target: Target, till: Till, sale: object): Promise<Answer> {
  const sentMs = performance.now();
  const { merchantId, token } = till;
  const answer = (members: Pick<Answer, 'status' | 'code' | 'hasRetryAfter' | 'isApproved'>) => ({
    ...members,
    merchantId,
    sentMs,
    durationMs: performance.now() - sentMs,
  });
  try {
    const { status, text, headers } = await sendRequest(target, {
      method: 'POST',
      path: '/payment/v1/transactions/process',
      token,
      contentType: 'application/json',
      body: JSON.stringify(sale),
      timeoutMs: answerLimitMs,
    });
    const body = JSON.parse(text) as { state?: string; code?: string; approved?: boolean };
    return answer({
      status,
      code: body.code ?? body.state ?? '',
      hasRetryAfter: headers['retry-after'] !== undefined,
      isApproved: body.approved === true,
    });
  } catch (error) {
    return answer({ status: 0, code: String(error), hasRetryAfter: false, isApproved: false });
  }
}

/** @param loops the tills of each loop, which sends one sale after the other */
export function startSaleLoad(target: Target, loops: readonly (readonly Till[])[]): Load {
  const answers: Answer[] = [];
  const unfinished: string[] = [];
  let approvedMinor = 0;
  let isStopping = false;

  async function sell(till: Till, deviceId: string | undefined): Promise<void> {
    const clientTransactionId = randomUUID();
    const amount = amountOfSale();
    const sale = keyedSale({ clientTransactionId, amount, deviceId });
    const beganMs = performance.now();
    for (;;) {
      const answer = await sendSale(target, till, sale);
      answers.push(answer);
      if (answer.status === 200) {
        if (answer.isApproved) approvedMinor += amount;
        return;
      }
      if (performance.now() - beganMs > saleLimitMs) {
        unfinished.push(`${clientTransactionId}: ${answer.status} ${answer.code}`);
        return;
      }
      await pause(repeatPauseMs);
    }
  }

  async function runLoop(tills: readonly Till[]): Promise<void> {
    for (let count = 0; !isStopping; count += 1) {
      const till = tills[count % tills.length];
      if (till === undefined) return;
      const round = Math.floor(count / tills.length);
      await sell(till, till.deviceIds[round % till.deviceIds.length]);
    }
  }

  const running = loops.map(runLoop);
  return {
    answers,
    unfinished,
    approvedMinor: () => approvedMinor,
    addLoop: (tills) => void running.push(runLoop(tills)),
    async stop() {
      isStopping = true;
      await Promise.all(running);
    },
  };
}

/** The answers that do not approve a sale, counted by status and code. */
export function describeErrors(answers: readonly Answer[]): string {
  const counts = new Map<string, number>();
  for (const { status, code, isApproved } of answers) {
    if (isApproved) continue;
    const kind = `${status} ${code}`;
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  return counts.size === 0 ? 'none' : [...counts].map(([kind, n]) => `${n} × ${kind}`).join(', ');
}
