// What another node has under way, where the nodes cannot ask each other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Terminal } from '../../provisioning/index.ts';
import { BackplaneFault } from '../backplane.ts';
import type { Asking } from '../claims.ts';
import type { Relay } from './deps.ts';
import { createLines } from './lines.ts';

const asking = {
  caller: { organizationId: 'o', clientId: 'k', permissions: ['cc.pos'] },
} as unknown as Asking;
const terminal = { organizationId: 'o', physicalDeviceId: 'p', tsn: 'T-1' } as Terminal;
const wanted = { tsn: 'T-1', posId: 'till' };

const sentWhere = (request: () => Promise<never>) => {
  const relay = { backplane: { own: () => () => {}, request } } as unknown as Relay;
  return createLines({ relay, clock: { now: () => 0 } }).sendElsewhere(
    asking,
    terminal,
    wanted,
    'abort',
  );
};

test('an abort while other nodes cannot be asked goes the way of a new one', async () => {
  const isSent = await sentWhere(() => Promise.reject(new BackplaneFault('NATS is away')));
  assert.equal(isSent, false);
  await assert.rejects(
    sentWhere(() => Promise.reject(new RangeError('ours'))),
    RangeError,
  );
});
