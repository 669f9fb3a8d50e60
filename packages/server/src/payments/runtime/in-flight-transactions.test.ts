import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../http/index.ts';
import { getTransaction, type ReadPorts } from './find-transaction.ts';
import {
  createInFlightTransactions,
  type InFlightTransactions,
  maxWaitingReaders,
  maxWaitingReadersPerClient,
} from './in-flight-transactions.ts';

const organizationId = '01890000-0000-7000-8000-000000000001';
const transactionId = '01890000-0000-7000-8000-000000000002';

describe('waiting readers', () => {
  it('are limited for each client and in total', () => {
    const inFlightTransactions = createInFlightTransactions();
    const leaves = Array.from({ length: maxWaitingReadersPerClient }, () =>
      inFlightTransactions.acquireWaitSlot('a'),
    );
    assert.ok(leaves.every((leave) => leave !== undefined));
    assert.equal(inFlightTransactions.acquireWaitSlot('a'), undefined);
    for (let client = 1; client < maxWaitingReaders / maxWaitingReadersPerClient; client += 1) {
      for (let reader = 0; reader < maxWaitingReadersPerClient; reader += 1) {
        assert.ok(inFlightTransactions.acquireWaitSlot(`client ${client}`));
      }
    }
    assert.equal(inFlightTransactions.acquireWaitSlot('b'), undefined);
    leaves[0]?.();
    assert.ok(inFlightTransactions.acquireWaitSlot('b'));
  });

  it('receive the response at once when the limit is reached', async () => {
    const inFlightTransactions = createInFlightTransactions();
    while (inFlightTransactions.acquireWaitSlot(`${organizationId}|till`) !== undefined);
    const { ports, caller } = setUp(inFlightTransactions);
    await getTransaction(ports, caller, { identifier: transactionId, waitSeconds: 30 });
    assert.equal(ports.reads(), 1);
  });

  it('are released by a stop, and no new reader waits', async () => {
    const inFlightTransactions = createInFlightTransactions();
    const { ports, caller } = setUp(inFlightTransactions);
    const waiting = getTransaction(ports, caller, { identifier: transactionId, waitSeconds: 3600 });
    await new Promise((resolve) => setImmediate(resolve));
    inFlightTransactions.stop();
    await waiting;
    assert.equal(ports.reads(), 2);
    assert.equal(inFlightTransactions.acquireWaitSlot('another'), undefined);
  });
});

/** A sale without an outcome. The clock advances with each read. */
function setUp(inFlightTransactions: InFlightTransactions) {
  let reads = 0;
  const ports = {
    inFlightTransactions,
    dueClock: { now: () => reads * 10_000 },
    reads: () => reads,
    transactions: {
      async findById() {
        reads += 1;
        return { row: { transactionId, state: 'Received', version: 1 }, operations: [] };
      },
    },
  } as unknown as ReadPorts & { reads(): number };
  const caller = { organizationId, clientId: 'till' } as Caller;
  return { ports, caller };
}
