import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Job } from '../platform/index.ts';
import type { PaymentsDeps } from './deps.ts';
import { createRepeats } from './pending.ts';
import { repeatsPerLink, repeatsPerSilentLink } from './repeat-places.ts';

const now = 1_000_000;
const jobFor = (linkId: string) =>
  ({
    organizationId: 'o',
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
        row: { organizationId: 'o', transactionId: linkId, state: 'Reversing', deadline: now },
        events: [
          { sequence: 1, type: 'transaction.received', data: { facts: { linkId, card: {} } } },
        ],
        operations: [operation],
      }),
    },
    vault: { reveal: async () => ({ pan: '', expiry: '' }) },
    acquiring: {
      available: () => true,
      async send({ linkId }: { linkId: string }) {
        sent.push(linkId);
        await silence.promise;
        return { outcome: 'Unknown', reason: 'Timeout' };
      },
    },
    log: { error: () => {}, warn: () => {} },
  } as unknown as PaymentsDeps;
  const hush = () => {
    silence = Promise.withResolvers();
  };
  return { repeat: createRepeats(deps), sent, letGo: () => silence.resolve(), hush };
}

describe('repeats', () => {
  it('of one silent acquirer leave places for the others, and are no tries without one', async () => {
    const { repeat, sent, letGo } = silentAcquirers();
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const held = Array.from({ length: repeatsPerLink }, () => repeat(jobFor('silent')));
    await turn();
    assert.equal(sent.length, repeatsPerLink);
    const extra = await Promise.race([repeat(jobFor('silent')), turn().then(turn)]);
    assert.deepEqual(extra, { retryAt: now + 1000, untried: true });
    const other = repeat(jobFor('other'));
    await turn();
    assert.deepEqual(sent.slice(repeatsPerLink), ['other']);
    letGo();
    for (const end of await Promise.all([...held, other])) {
      assert.deepEqual(end, { retryAt: now + 1000 });
    }
    await repeat(jobFor('silent'));
    assert.equal(sent.length, repeatsPerLink + 2);
  });

  it('are few at an acquirer that has just left one without an answer', async () => {
    const { repeat, sent, letGo, hush } = silentAcquirers();
    letGo();
    await repeat(jobFor('silent'));
    hush();
    const all = Array.from({ length: repeatsPerLink }, () => repeat(jobFor('silent')));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(sent.length, 1 + repeatsPerSilentLink);
    letGo();
    await Promise.all(all);
  });
});
