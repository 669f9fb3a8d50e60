import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { dueClockOf } from '../../../test/support/movable-clock.ts';
import { type Job, startSpan } from '../../platform/index.ts';
import {
  createRetryDriver,
  maxRetriesPerLink,
  maxRetriesPerUnresponsiveLink,
  type RetryPorts,
} from '../runtime/send-queued-message.ts';
import { createOperationRetry, type RetryOperationPorts } from './send-pending-operations.ts';

const now = 1_000_000;
const jobFor = (linkId: string) =>
  ({
    organizationId: 'o',
    jobId: `${linkId}-1`,
    queueId: linkId,
    attempts: 0,
    payload: { transactionId: linkId, operationNumber: 1 },
  }) as unknown as Job;

/** Acquirers that do not respond until `releaseResponses` is called. */
function unresponsiveAcquirers() {
  const sent: string[] = [];
  let silence = Promise.withResolvers<void>();
  const operation = {
    operationNumber: 1,
    kind: 'Reversal',
    status: 'Pending',
    amount: 1,
    details: {},
  };
  const ports = {
    clock: { now: () => now },
    dueClock: dueClockOf({ now: () => now }),
    transactions: {
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
            data: { context: { linkId, card: {}, request: {} } },
          },
        ],
        operations: [operation],
      }),
    },
    vault: { detokenizeCard: async () => ({ pan: '', expiry: '' }) },
    acquiring: {
      isLinkAvailable: (linkId: string) => linkId !== 'down',
      async send({ linkId }: { linkId: string }, onSent: () => void) {
        sent.push(linkId);
        onSent();
        await silence.promise;
        return { outcome: 'Unknown', reason: 'Timeout' };
      },
    },
    failPoints: { hit: () => {} },
    log: { error: () => {}, warn: () => {} },
    linkQueue: { isBlocked: async () => false },
  } as unknown as RetryOperationPorts & RetryPorts;
  const holdResponses = () => {
    silence = Promise.withResolvers();
  };
  return {
    retry: createRetryDriver(ports, createOperationRetry(ports)),
    sent,
    releaseResponses: () => silence.resolve(),
    holdResponses,
  };
}

const runOnce = async () => {
  for (let count = 0; count < 4; count += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
};

/** The pause is between 50 % and 100 % of `ms`. */
function assertLater(result: { retryAt: number } | undefined, ms: number, expected: object): void {
  const { retryAt, ...otherMembers } = result ?? { retryAt: 0 };
  assert.ok(retryAt >= now + ms / 2 && retryAt <= now + ms, String(retryAt - now));
  assert.deepEqual(otherMembers, expected);
}

describe('retries of operations', () => {
  it('of one unresponsive acquirer leave capacity for other acquirers', async () => {
    const { retry, sent, releaseResponses } = unresponsiveAcquirers();
    const pendingRetries = Array.from({ length: maxRetriesPerLink }, () => retry(jobFor('silent')));
    await runOnce();
    assert.equal(sent.length, maxRetriesPerLink);
    const extra = await Promise.race([retry(jobFor('silent')), runOnce().then(() => undefined)]);
    assertLater(extra, 1000, { countAttempt: false });
    const other = retry(jobFor('other'));
    await runOnce();
    assert.deepEqual(sent.slice(maxRetriesPerLink), ['other']);
    releaseResponses();
    for (const result of await Promise.all([...pendingRetries, other])) {
      assertLater(result, 1000, { note: 'Unanswered' });
    }
    await retry(jobFor('silent'));
    assert.equal(sent.length, maxRetriesPerLink + 2);
  });

  it('are rescheduled without a read while the link is down', async () => {
    const { retry, sent } = unresponsiveAcquirers();
    const { payload: _payload, ...job } = jobFor('down');
    assertLater((await retry(job as Job)) ?? undefined, 2000, { countAttempt: false });
    assert.deepEqual(sent, []);
  });

  it('that the link could not send end the span of their attempt', async () => {
    const ended: string[] = [];
    const span = startSpan(({ name }) => void ended.push(name), undefined, 'job');
    const ports = {
      acquiring: { isLinkAvailable: () => true },
      clock: { now: () => now },
      linkQueue: { isBlocked: async () => false },
      log: { error: () => {} },
    } as unknown as RetryPorts;
    const retry = createRetryDriver<string>(ports, {
      load: async () => 'message',
      send: async () => ({ outcome: 'NotSent', reason: 'not ready' }),
      storeOutcome: async () => 'WhenLinkIsUp',
      noResponseAlert: () => [{}, ''],
    });
    const result = await retry({ ...jobFor('lost'), span });
    assertLater(result ?? undefined, 2000, { countAttempt: false });
    assert.deepEqual(ended, ['job']);
  });

  it('are limited after a missing response', async () => {
    const { retry, sent, releaseResponses, holdResponses } = unresponsiveAcquirers();
    releaseResponses();
    await retry(jobFor('silent'));
    holdResponses();
    const all = Array.from({ length: maxRetriesPerLink }, () => retry(jobFor('silent')));
    await runOnce();
    assert.equal(sent.length, 1 + maxRetriesPerUnresponsiveLink);
    releaseResponses();
    await Promise.all(all);
  });
});
