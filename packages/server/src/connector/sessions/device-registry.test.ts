// Tests the devices of a node when two events happen at the same time.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import { type AssignedTerminal, deviceKeyOf } from '../devices/check-device-access.ts';
import type { WebSocketConnection } from '../forwarding/websocket-connections.ts';
import { type Backplane, createLocalBackplane, type Message } from '../nodes/backplane.ts';
import { createFakeNats } from '../nodes/fake-nats-connection.fixture.ts';
import { createNatsBackplane } from '../nodes/nats-backplane.ts';
import { createDeviceRegistry, deviceTopic } from './device-registry.ts';

const device = {
  organizationId: 'o',
  physicalDeviceId: 'p',
  logicalDeviceId: 'l',
  merchantId: 'm',
  storeId: 's',
  tsn: 'AXIUM_DX8000-1',
  serialNumber: '1',
} as AssignedTerminal;
/** The same hardware, assigned to a store of another merchant. */
const elsewhere = { ...device, logicalDeviceId: 'l2', storeId: 's2', merchantId: 'm2' };

function peerOf() {
  const closings: number[] = [];
  const ends: ((code: number) => void)[] = [];
  const peer: WebSocketConnection = {
    correlationId: 'c',
    kind: 'device',
    buffered: () => 0,
    send: () => {},
    pause: () => {},
    resume: () => {},
    close: (code) => void closings.push(code),
    onMessage: () => {},
    onClose: (closeHandler) => void ends.push(closeHandler),
  };
  const end = () => {
    for (const closeHandler of ends) closeHandler(1006);
  };
  return { peer, closings, end };
}

const topic = deviceTopic(deviceKeyOf(device));
const nothing = () => {};
let made = 0;

type SetupOptions = {
  readonly whileAudited?: () => void;
  readonly backplane?: Backplane;
  readonly now?: () => number;
};

function sample({
  whileAudited = nothing,
  backplane = createLocalBackplane(),
  now = () => 1000,
}: SetupOptions = {}) {
  const registry = createDeviceRegistry({
    backplane,
    remoteSessions: { publish: () => nothing },
    sessionUrlOf: (id: string) => id,
    clock: { now },
    ids: { secret: () => `secret-${made++}`.padEnd(43, '-') },
    presence: { disconnect: async () => {}, findSuperseded: async () => new Set() },
    metrics: {
      observeSessions: nothing,
      countDropped: nothing,
      countToPos: nothing,
      countToDevice: nothing,
    },
    times: {
      resumeMs: 30_000,
      idleMs: 60_000,
      sessionUrlMs: 60_000,
      takeoverQuietMs: 60_000,
      previousNodeWaitMs: 500,
    },
    database: { transaction: async (work: (trx: unknown) => unknown) => work(undefined) },
    audit: { record: async () => whileAudited() },
    log: { error: nothing, warn: nothing, info: nothing },
  } as unknown as Parameters<typeof createDeviceRegistry>[0]);
  const claim = (more: object = {}) =>
    backplane.request(deviceKeyOf(device), {
      kind: 'claim',
      owner: 'till',
      organizationId: 'o',
      clientId: 'k',
      author: {},
      takeOver: false,
      force: false,
      ...more,
    });
  return { registry, claim, backplane };
}

describe('a node and its devices', () => {
  it('keeps the newer of two connections, in either order of arrival', async () => {
    const { registry, claim } = sample();
    const [younger, elder] = [peerOf(), peerOf()];
    registry.addConnection(device, younger.peer, { connectionId: 'b', order: 10 });
    registry.addConnection(device, elder.peer, { connectionId: 'z', order: 9 });
    assert.deepEqual([younger.closings, elder.closings], [[], [closeCodes.superseded]]);
    assert.equal(registry.connectedDevices()[0]?.connectionId, 'b');
    elder.end();
    assert.ok((await claim())?.['sessionId']);
    const next = peerOf();
    registry.addConnection(device, next.peer, { connectionId: 'a', order: 11 });
    assert.deepEqual(younger.closings, [closeCodes.superseded]);
  });

  it('publishes no offline status for a device that has connected to another node', () => {
    const { registry, backplane } = sample();
    const one = peerOf();
    registry.addConnection(device, one.peer, { connectionId: 'a', order: 1 });
    const onlineStates: unknown[] = [];
    backplane.subscribe(
      topic,
      ({ kind, online }) => void (kind === 'status' && onlineStates.push(online)),
    );
    backplane.publish(topic, { kind: 'attached', connectionId: 'b', order: 2 });
    assert.deepEqual(one.closings, [closeCodes.superseded]);
    one.end();
    assert.ok(!onlineStates.includes(false), JSON.stringify(onlineStates));
    assert.deepEqual(registry.connectedDevices(), []);
    const reconnected = peerOf();
    registry.addConnection(device, reconnected.peer, { connectionId: 'c', order: 3 });
    reconnected.end();
    assert.equal(onlineStates.at(-1), false);
  });

  it('gives no session with a device that has gone while a takeover was written down', async () => {
    const one = peerOf();
    const { registry, claim } = sample({ whileAudited: one.end });
    registry.addConnection(device, one.peer, { connectionId: 'a', order: 1 });
    const { sessionId } = (await claim()) ?? {};
    registry.useAddress(String(sessionId));
    registry.join(String(sessionId), one.peer);
    const answer = await claim({ takeOver: true, force: true });
    assert.equal(answer?.['code'], 'device_offline', JSON.stringify(answer));
  });
});

describe('a device that reconnects to its node', () => {
  /** Creates a session in the given phase; the device keeps its assignment. */
  async function inSession(phase: string) {
    const { registry, claim } = sample();
    const [before, pos] = [peerOf(), peerOf()];
    registry.addConnection(device, before.peer, { connectionId: 'a', order: 1 });
    const got = (await claim()) ?? {};
    const sessionId = String(got['sessionId']);
    if (phase !== 'Reserved') {
      assert.ok(registry.useAddress(sessionId));
      assert.ok(registry.join(sessionId, pos.peer));
    }
    if (phase !== 'Open') before.end();
    return { registry, claim, pos, sessionId, resumeToken: got['resumeToken'] };
  }

  for (const phase of ['Reserved', 'Open', 'Resumable']) {
    // Spec: NEXO-22
    it(`at another place leaves its session behind: ${phase}`, async () => {
      const { registry, claim, pos, sessionId, resumeToken } = await inSession(phase);
      registry.addConnection(elsewhere, peerOf().peer, { connectionId: 'b', order: 2 });
      assert.equal(registry.useAddress(sessionId), false);
      assert.equal(registry.hasSession(sessionId), false);
      if (phase === 'Open') assert.deepEqual(pos.closings, [closeCodes.restarting]);
      assert.equal(registry.connectedDevices()[0]?.device.merchantId, 'm2');
      const next = await claim({ resumeToken });
      assert.equal(next?.['isResumed'], false, JSON.stringify(next));
    });
  }

  // Spec: NEXO-22
  it('at its own place finds an address that is still good', async () => {
    const { registry, sessionId } = await inSession('Reserved');
    registry.addConnection({ ...device }, peerOf().peer, { connectionId: 'b', order: 2 });
    assert.ok(registry.useAddress(sessionId));
  });
});

describe('a device that goes to another node', () => {
  /** Creates two nodes, a device on the old node, and a point of sale in session with it. */
  async function createSetup() {
    const nats = createFakeNats();
    const clock = { time: 1000 };
    const log = { error: assert.fail } as unknown as Parameters<
      typeof createNatsBackplane
    >[0]['log'];
    const node = () =>
      sample({
        backplane: createNatsBackplane({ natsClient: nats.natsClient(), log }),
        now: () => clock.time,
      });
    const [old, next] = [node(), node()];
    const [before, after] = [peerOf(), peerOf()];
    old.registry.addConnection(device, before.peer, { connectionId: 'a', order: 1 });
    const got = (await old.claim()) ?? {};
    const pos = peerOf();
    assert.ok(old.registry.useAddress(String(got['sessionId'])));
    assert.ok(old.registry.join(String(got['sessionId']), pos.peer));
    await nats.settle();
    const onlineStates: unknown[] = [];
    next.backplane.subscribe(topic, ({ kind, online }) => {
      if (kind === 'status') onlineStates.push(online);
    });
    const move = async (to = device) => {
      next.registry.addConnection(to, after.peer, { connectionId: 'b', order: 2 });
      await nats.settle();
    };
    return { nats, clock, old, next, before, pos, got, onlineStates, move };
  }

  it('stays reserved there for its owner and its session can be resumed, and other owners are refused', async () => {
    const { clock, next, before, pos, got, onlineStates, move } = await createSetup();
    await move();
    assert.deepEqual(before.closings, [closeCodes.superseded]);
    assert.deepEqual(pos.closings, [closeCodes.deviceDisconnected]);
    const { resumeToken } = got;
    const refused = await next.claim({ owner: 'other', resumeToken });
    assert.deepEqual([refused?.['code'], refused?.['retryAfterMs']], ['device_claimed', 30_000]);
    clock.time += 29_999;
    const resumed = await next.claim({ resumeToken });
    assert.equal(resumed?.['isResumed'], true, JSON.stringify(resumed));
    assert.notEqual(resumed?.['sessionId'], got['sessionId']);
    assert.ok(!onlineStates.includes(false), JSON.stringify(onlineStates));
  });

  // Spec: NEXO-22
  it('cannot resume its session when it has moved to another store', async () => {
    const { next, pos, got, move } = await createSetup();
    await move(elsewhere);
    assert.deepEqual(pos.closings, [closeCodes.deviceDisconnected]);
    const claimed = await next.claim({ resumeToken: got['resumeToken'] });
    assert.equal(claimed?.['isResumed'], false, JSON.stringify(claimed));
  });

  it('becomes free for other owners when the reservation time ends or the owner releases it', async () => {
    const one = await createSetup();
    await one.move();
    one.clock.time += 30_000;
    assert.ok((await one.next.claim({ owner: 'other' }))?.['sessionId']);
    const two = await createSetup();
    await two.move();
    const release = { kind: 'release', owner: 'till', sessionId: two.got['sessionId'] };
    const released = await two.next.backplane.request(deviceKeyOf(device), release);
    assert.deepEqual(released, { released: true });
    assert.ok((await two.next.claim({ owner: 'other' }))?.['sessionId']);
  });

  it('is no news of its old node, where its connection had broken before', async () => {
    const { nats, next, before, onlineStates, got, clock, move } = await createSetup();
    before.end();
    await nats.settle();
    assert.deepEqual(onlineStates, [false]);
    clock.time += 10_000;
    await move();
    assert.deepEqual([...new Set(onlineStates.slice(1))], [true], JSON.stringify(onlineStates));
    const refused = await next.claim({ owner: 'other' });
    assert.equal(refused?.['retryAfterMs'], 20_000, 'no longer than there');
    const { resumeToken } = got;
    assert.equal((await next.claim({ resumeToken }))?.['isResumed'], true);
  });

  it('is not reserved by messages that are invalid, late, or from an older connection', async () => {
    const { registry, claim, backplane } = sample();
    const resumableMessage: Message = {
      kind: 'resumableSession',
      order: 1,
      remainingMs: 3_600_000,
      tokenHash: 'ab'.repeat(32),
      sessionId: 's'.repeat(43),
      assignment: { merchantId: 'm', storeId: 's', logicalDeviceId: 'l' },
      claimant: { owner: 'other', organizationId: 'o', clientId: 'k' },
    };
    backplane.publish(topic, resumableMessage);
    registry.addConnection(device, peerOf().peer, { connectionId: 'b', order: 2 });
    for (const harm of [
      { order: 2 },
      { remainingMs: 0 },
      { remainingMs: 'long' },
      { tokenHash: 'ab' },
      { sessionId: '' },
      { assignment: undefined },
      { assignment: { merchantId: 'm', storeId: 's2', logicalDeviceId: 'l' } },
      { claimant: undefined },
      { claimant: { owner: 1 } },
    ]) {
      backplane.publish(topic, { ...resumableMessage, ...harm });
    }
    const got = await claim();
    assert.ok(got?.['sessionId'], JSON.stringify(got));
    backplane.publish(topic, resumableMessage);
    const holds = { kind: 'holds', owner: 'till', sessionId: got['sessionId'] };
    const holdsAnswer = await backplane.request(deviceKeyOf(device), holds);
    assert.deepEqual(holdsAnswer, { holds: true }, 'the node that holds it keeps it');
    await backplane.request(deviceKeyOf(device), { ...holds, kind: 'release' });
    backplane.publish(topic, resumableMessage);
    const refused = await claim();
    assert.equal(refused?.['retryAfterMs'], 30_000, 'no longer than a place is kept here');
  });
});
