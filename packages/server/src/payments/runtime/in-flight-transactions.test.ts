import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { getTransaction } from '../operations/get-transaction.ts';
import {
  createInFlightTransactions,
  maxWaitingReaders,
  maxWaitingReadersPerClient,
} from './in-flight-transactions.ts';

const organizationId = '01890000-0000-7000-8000-000000000001';
const transactionId = '01890000-0000-7000-8000-000000000002';

describe('waiting readers', () => {
  it('are limited for each client and in total', () => {
    const running = createInFlightTransactions();
    const leaves = Array.from({ length: maxWaitingReadersPerClient }, () =>
      running.acquireWaitSlot('a'),
    );
    assert.ok(leaves.every((leave) => leave !== undefined));
    assert.equal(running.acquireWaitSlot('a'), undefined);
    for (let client = 1; client < maxWaitingReaders / maxWaitingReadersPerClient; client += 1) {
      for (let place = 0; place < maxWaitingReadersPerClient; place += 1) {
        assert.ok(running.acquireWaitSlot(`client ${client}`));
      }
    }
    assert.equal(running.acquireWaitSlot('b'), undefined);
    leaves[0]?.();
    assert.ok(running.acquireWaitSlot('b'));
  });

  it('receive the response at once when the limit is reached', async () => {
    const running = createInFlightTransactions();
    while (running.acquireWaitSlot(`${organizationId}|till`) !== undefined);
    const { deps, caller } = sceneOf(running);
    await getTransaction(deps, caller, { identifier: transactionId, waitSeconds: 30 });
    assert.equal(deps.looks(), 1);
  });

  it('are released by a stop, and no new reader waits', async () => {
    const running = createInFlightTransactions();
    const { deps, caller } = sceneOf(running);
    const waiting = getTransaction(deps, caller, { identifier: transactionId, waitSeconds: 3600 });
    await new Promise((resolve) => setImmediate(resolve));
    running.stop();
    await waiting;
    assert.equal(deps.looks(), 2);
    assert.equal(running.acquireWaitSlot('another'), undefined);
  });
});

/** A sale that stays at the acquirer; the clock goes on only where somebody waits. */
function sceneOf(running: PaymentsDeps['inFlightTransactions']) {
  let looks = 0;
  const deps = {
    running,
    clock: { now: () => looks * 10_000 },
    looks: () => looks,
    store: {
      async findById() {
        looks += 1;
        return { row: { transactionId, state: 'Received', version: 1 }, operations: [] };
      },
    },
  } as unknown as PaymentsDeps & { looks(): number };
  const caller = { organizationId, clientId: 'till' } as Caller;
  return { deps, caller };
}
