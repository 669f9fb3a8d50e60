// How often it is asked again about each device, however many there are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlacedTerminal } from './devices.ts';
import type { Connected } from './hub.ts';
import { createRecheck } from './recheck.ts';

const roundMs = 30_000;

/** Three rounds over so many devices, in a time of its own. @returns when the first device was asked about */
async function looksAt(count: number): Promise<readonly number[]> {
  const connected = Array.from({ length: count }, (_, at) => {
    const device = { organizationId: 'o', physicalDeviceId: `d${at}` } as PlacedTerminal;
    return { device, connectionId: `c${at}`, thumbprint: undefined, clientId: undefined };
  }) satisfies Connected[];
  const stopping = new AbortController();
  const looks: number[] = [];
  let now = 0;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const recheck = createRecheck({
    devices: {
      async faultsOf(some) {
        if (some[0]?.physicalDeviceId === 'd0') looks.push(now);
        return new Map();
      },
    },
    clients: {
      standBound: async () => new Set(),
      permissionsOf: async () => [],
      permissionsBy: async () => [],
    },
    now: () => now,
    hub: {
      connected: () => connected,
      claimants: () => [],
      cutDevice: () => assert.fail('all are fine'),
      cutClaims: () => assert.fail('all are fine'),
    },
    ...{ roundMs, signal: stopping.signal, onError: (error) => assert.fail(String(error)) },
    async rest(ms) {
      assert.ok(ms > 0 && ms <= roundMs);
      now += ms;
      if (looks.length < 3) return;
      stopping.abort();
      resolve();
    },
  });
  recheck.start();
  await over;
  await recheck.stop();
  return looks;
}

for (const count of [1, 500, 1200, 4000]) {
  test(`each of ${count} devices is asked about once in half a minute`, async () => {
    const looks = await looksAt(count);
    const between = looks.slice(1).map((at, index) => at - (looks[index] ?? 0));
    assert.equal(between.length, 2);
    // What the looks themselves took is part of it.
    for (const ms of between) assert.ok(ms <= roundMs && ms > roundMs / 2, `${ms} ms`);
  });
}
