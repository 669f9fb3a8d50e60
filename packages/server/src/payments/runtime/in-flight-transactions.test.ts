import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../http/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import { status } from '../operations/get-transaction.ts';
import { createRunning, parkedMax, parkedPerClientMax } from './in-flight-transactions.ts';

const organizationId = '01890000-0000-7000-8000-000000000001';
const transactionId = '01890000-0000-7000-8000-000000000002';

describe('readers that wait', () => {
  it('have places for each client and in all', () => {
    const running = createRunning();
    const leaves = Array.from({ length: parkedPerClientMax }, () => running.park('a'));
    assert.ok(leaves.every((leave) => leave !== undefined));
    assert.equal(running.park('a'), undefined);
    for (let client = 1; client < parkedMax / parkedPerClientMax; client += 1) {
      for (let place = 0; place < parkedPerClientMax; place += 1) {
        assert.ok(running.park(`client ${client}`));
      }
    }
    assert.equal(running.park('b'), undefined);
    leaves[0]?.();
    assert.ok(running.park('b'));
  });

  it('are answered at once where there is no place', async () => {
    const running = createRunning();
    while (running.park(`${organizationId}|till`) !== undefined);
    const { deps, caller } = sceneOf(running);
    await status(deps, caller, { identifier: transactionId, waitSeconds: 30 });
    assert.equal(deps.looks(), 1);
  });

  it('are woken by a stop, after which none waits', async () => {
    const running = createRunning();
    const { deps, caller } = sceneOf(running);
    const waiting = status(deps, caller, { identifier: transactionId, waitSeconds: 3600 });
    await new Promise((resolve) => setImmediate(resolve));
    running.stop();
    await waiting;
    assert.equal(deps.looks(), 2);
    assert.equal(running.park('another'), undefined);
  });
});

/** A sale that stays at the acquirer; the clock goes on only where somebody waits. */
function sceneOf(running: PaymentsDeps['running']) {
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
