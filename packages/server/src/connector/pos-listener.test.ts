// How many connections of points of sale are let in, and whose they are counted for.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Refusal } from '@switchyard/contract';
import type { Admitted } from '../http/index.ts';
import { createPosListener } from './pos-listener.ts';

function sample() {
  const { route } = createPosListener({
    settings: { connectorConnections: 100_000 },
    peers: { size: () => 0 },
    claims: { roleFault: async () => undefined },
    metrics: { claims: () => {} },
    clock: { now: () => 1000 },
  } as unknown as Parameters<typeof createPosListener>[0]);
  const permissions = new Set(['cc.pos']);
  return (organizationId: string): Promise<Admitted> =>
    route.admit({
      caller: { organizationId, clientId: 'till-7', permissions },
      token: 't',
    } as unknown as Parameters<typeof route.admit>[0]);
}

it('clients of one name in two organisations have a rate each', async () => {
  const admit = sample();
  const isLimited = (error: unknown) => error instanceof Refusal && error.code === 'rate_limited';
  for (let n = 0; n < 2000; n += 1) await admit('one');
  await assert.rejects(admit('one'), isLimited);
  assert.ok(await admit('other'));
});
