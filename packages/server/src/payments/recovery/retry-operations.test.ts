import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Job } from '../../platform/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { maxRetriesPerLink, maxRetriesPerUnresponsiveLink } from '../runtime/retry-concurrency.ts';
import { createOperationRetry } from './retry-operations.ts';

const now = 1_000_000;
const jobFor = (linkId: string) =>
  ({
    organizationId: 'o',
    jobId: `${linkId}-1`,
    lane: linkId,
    attempts: 0,
    payload: { transactionId: linkId, number: 1 },
  }) as unknown as Job;

/** Acquirers that never answer: what is sent to them waits until it is let go. */
function silentAcquirers() {
  const sent: string[] = [];
  let silence = Promise.withResolvers<void>();
  const operation = { number: 1, kind: 'Reversal', status: 'Pending', amount: 1, details: {} };
  const deps = {
    clock: { now: () => now },
    store: {
      findById: async (_: string, linkId: string) => ({
        row: {
          organizationId: 'o',
          transactionId: linkId,
          state: 'Reversing',
          deadline: now,
          position: { authorized: 0 },
        },
        events: [
          {
            sequence: 1,
            type: 'transaction.received',
            data: { facts: { linkId, card: {}, request: {} } },
          },
        ],
        operations: [operation],
      }),
    },
    vault: { reveal: async () => ({ pan: '', expiry: '' }) },
    acquiring: {
      available: (linkId: string) => linkId !== 'down',
      async send({ linkId }: { linkId: string }, onSent: () => void) {
        sent.push(linkId);
        onSent();
        await silence.promise;
        return { outcome: 'Unknown', reason: 'Timeout' };
      },
    },
    failPoints: { hit: () => {} },
    log: { error: () => {}, warn: () => {} },
  } as unknown as PaymentsDeps;
  const hush = () => {
    silence = Promise.withResolvers();
  };
  return {
    repeat: createOperationRetry(deps, { isBlocked: async () => false }),
    sent,
    letGo: () => silence.resolve(),
    hush,
  };
}

const turn = async () => {
  for (let count = 0; count < 4; count += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
};

/** Half of the pause at least, and never more than it. */
function assertLater(end: { retryAt: number } | undefined, ms: number, rest: object): void {
  const { retryAt, ...others } = end ?? { retryAt: 0 };
  assert.ok(retryAt >= now + ms / 2 && retryAt <= now + ms, String(retryAt - now));
  assert.deepEqual(others, rest);
}

describe('retries of operations', () => {
  it('of one unresponsive acquirer leave capacity for other acquirers', async () => {
    const { repeat, sent, letGo } = silentAcquirers();
    const held = Array.from({ length: maxRetriesPerLink }, () => repeat(jobFor('silent')));
    await turn();
    assert.equal(sent.length, maxRetriesPerLink);
    const extra = await Promise.race([repeat(jobFor('silent')), turn().then(() => undefined)]);
    assertLater(extra, 1000, { untried: true });
    const other = repeat(jobFor('other'));
    await turn();
    assert.deepEqual(sent.slice(maxRetriesPerLink), ['other']);
    letGo();
    for (const end of await Promise.all([...held, other])) {
      assertLater(end, 1000, { note: 'Unanswered' });
    }
    await repeat(jobFor('silent'));
    assert.equal(sent.length, maxRetriesPerLink + 2);
  });

  it('are rescheduled without a read while the link is down', async () => {
    const { repeat, sent } = silentAcquirers();
    const { payload: _payload, ...job } = jobFor('down');
    assertLater((await repeat(job as Job)) ?? undefined, 2000, { untried: true });
    assert.deepEqual(sent, []);
  });

  it('are limited after a missing response', async () => {
    const { repeat, sent, letGo, hush } = silentAcquirers();
    letGo();
    await repeat(jobFor('silent'));
    hush();
    const all = Array.from({ length: maxRetriesPerLink }, () => repeat(jobFor('silent')));
    await turn();
    assert.equal(sent.length, 1 + maxRetriesPerUnresponsiveLink);
    letGo();
    await Promise.all(all);
  });
});
