// Tests how often the server rechecks devices, which it disconnects, and that faults stop nothing.
import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import type { AssignedTerminal } from './devices/check-device-access.ts';
import { createAuthorizationRecheck } from './recheck-authorizations.ts';
import type { ClaimToken } from './sessions/claim-token.ts';
import type { ConnectedTerminal } from './sessions/device-registry.ts';
import type { Claimant } from './sessions/session.ts';

const roundMs = 30_000;

/**
 * Runs three rounds over the devices with a simulated clock.
 *
 * @returns the times at which the first device was checked
 */
async function looksAt(count: number): Promise<readonly number[]> {
  const connected = Array.from({ length: count }, (_, at) => {
    const device = { organizationId: 'o', physicalDeviceId: `d${at}` } as AssignedTerminal;
    return { device, connectionId: `c${at}`, thumbprint: undefined, clientId: undefined };
  }) satisfies ConnectedTerminal[];
  const stopping = new AbortController();
  const checkTimes: number[] = [];
  let now = 0;
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const recheck = createAuthorizationRecheck({
    devices: {
      async findFaults(some) {
        if (some[0]?.physicalDeviceId === 'd0') checkTimes.push(now);
        return new Map();
      },
    },
    clients: {
      findActiveCertificates: async () => new Set(),
      currentPermissions: async () => [],
      currentPermissionsOfToken: async () => [],
    },
    now: () => now,
    deviceRegistry: {
      connectedDevices: () => connected,
      claimants: () => [],
      disconnectDevice: () => assert.fail('all are fine'),
      endSessions: () => assert.fail('all are fine'),
    },
    roundMs,
    signal: stopping.signal,
    onError: (error) => assert.fail(String(error)),
    async pause(ms) {
      assert.ok(ms > 0 && ms <= roundMs);
      now += ms;
      if (checkTimes.length < 3) return;
      stopping.abort();
      resolve();
    },
  });
  recheck.start();
  await over;
  await recheck.stop();
  return checkTimes;
}

for (const count of [1, 500, 1200, 4000]) {
  test(`the server checks each of ${count} devices once per half minute`, async () => {
    const checkTimes = await looksAt(count);
    const intervals = checkTimes.slice(1).map((at, index) => at - (checkTimes[index] ?? 0));
    assert.equal(intervals.length, 2);
    // The duration of the checks is part of the round.
    for (const ms of intervals) assert.ok(ms <= roundMs && ms > roundMs / 2, `${ms} ms`);
  });
}

/** The permissions of each token by its ID; `broken` is a realm that the server cannot read. */
type Rights = Map<string, readonly ['cc.pos'] | undefined>;

const claimantBy = (tokenId: string, realm = 'r'): Claimant => {
  const [organizationId, clientId] = [`o-${realm}`, tokenId];
  const token: ClaimToken = { realm, organizationId, clientId, tokenId, expiresAt: roundMs * 100 };
  return { owner: tokenId, organizationId, clientId, token };
};

/** Runs rounds over sessions and devices, with a callback before each round. */
async function rounds(
  claimants: Claimant[],
  rights: Rights,
  before: readonly (() => void)[],
  devices: readonly ConnectedTerminal[] = [],
) {
  const stopping = new AbortController();
  const cut: string[][] = [];
  const faults: unknown[] = [];
  let ofRound: string[] = [];
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const mayRead = (organizationId: string) => {
    if (organizationId === 'o-broken') throw new Error('the realm cannot be read');
  };
  before[0]?.();
  const recheck = createAuthorizationRecheck({
    devices: {
      findFaults: async (some) =>
        new Map(some.map((device) => [device, 'device_disabled'] as const)) as never,
    },
    clients: {
      findActiveCertificates: async () => new Set(),
      async currentPermissions(organizationId) {
        if (organizationId === 'o-broken-client') mayRead('o-broken');
        return ['cc.pos'];
      },
      async currentPermissionsOfToken({ organizationId, tokenId }) {
        mayRead(organizationId);
        return rights.get(tokenId);
      },
    },
    now: () => 0,
    deviceRegistry: {
      connectedDevices: () => devices,
      claimants: () => claimants,
      disconnectDevice: ({ physicalDeviceId }) => void ofRound.push(physicalDeviceId),
      endSessions(isMeant) {
        ofRound.push(...claimants.filter(isMeant).map(({ owner }) => owner));
      },
    },
    roundMs,
    signal: stopping.signal,
    onError: (error) => void faults.push(error),
    async pause() {
      cut.push(ofRound);
      ofRound = [];
      before[cut.length]?.();
      if (cut.length < before.length) return;
      stopping.abort();
      resolve();
    },
  });
  recheck.start();
  await over;
  await recheck.stop();
  return { cut, faults };
}

describe('the token of a claimed session', () => {
  const nothing = () => {};

  // Spec: NEXO-15
  it('ends the session once two rounds have found it revoked, and not before', async () => {
    const rights: Rights = new Map([['good', ['cc.pos']]]);
    const claimants = [claimantBy('good'), claimantBy('revoked')];
    const { cut, faults } = await rounds(claimants, rights, [nothing, nothing]);
    assert.deepEqual([cut, faults], [[[], ['revoked']], []]);
  });

  it('ends no session if a newer token replaces it or it is valid again at the next round', async () => {
    const rights: Rights = new Map([['next', ['cc.pos']]]);
    const claimants = [claimantBy('old'), claimantBy('back')];
    const heal = () => {
      claimants[0] = claimantBy('next');
      rights.set('back', ['cc.pos']);
    };
    const again = () => rights.delete('back');
    const { cut } = await rounds(claimants, rights, [nothing, heal, again, nothing]);
    assert.deepEqual(cut, [[], [], [], ['back']]);
  });

  // Spec: NEXO-15
  it('of an unreadable realm does not stop the checks of other tokens and devices', async () => {
    const device = (organizationId: string, clientId?: string) => ({
      device: { organizationId, physicalDeviceId: organizationId } as AssignedTerminal,
      connectionId: 'c',
      thumbprint: undefined,
      clientId,
    });
    const { cut, faults } = await rounds(
      [...[1, 2, 3, 4].map((n) => claimantBy(`${n}`, 'broken')), claimantBy('revoked')],
      new Map(),
      [nothing, nothing],
      [device('o-broken-client', 'till'), device('o')],
    );
    assert.deepEqual(cut[1], ['revoked', 'o-broken-client', 'o']);
    assert.equal(faults.length, 2, 'one fault for each round');
  });
});
