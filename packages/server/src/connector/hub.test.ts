// The devices of a node where two things come at the same time.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { closeCodes } from '@switchyard/contract';
import { createLocalBackplane } from './backplane.ts';
import { deviceKeyOf, type PlacedTerminal } from './devices.ts';
import { createHub, deviceTopic } from './hub.ts';
import type { Peer } from './peers.ts';

const device = {
  ...{ organizationId: 'o', physicalDeviceId: 'p', logicalDeviceId: 'l', merchantId: 'm' },
  ...{ storeId: 's', tsn: 'AXIUM_DX8000-1', serialNumber: '1' },
} as PlacedTerminal;

function peerOf() {
  const closings: number[] = [];
  const ends: ((code: number) => void)[] = [];
  const peer: Peer = {
    ...{ correlationId: 'c', kind: 'device', buffered: () => 0 },
    ...{ send: () => {}, pause: () => {}, resume: () => {} },
    close: (code) => void closings.push(code),
    onMessage: () => {},
    onClose: (told) => void ends.push(told),
  };
  const end = () => {
    for (const told of ends) told(1006);
  };
  return { peer, closings, end };
}

function sample(whileAudited = () => {}) {
  const backplane = createLocalBackplane();
  let made = 0;
  const nothing = () => {};
  const hub = createHub({
    ...{ backplane, far: undefined, addressOf: (id: string) => id },
    clock: { now: () => 1000 },
    ids: { secret: () => `secret-${made++}` },
    presence: { disconnect: async () => {}, superseded: async () => new Set() },
    metrics: { sessions: nothing, dropped: nothing, toPos: nothing, toDevice: nothing },
    times: { resumeMs: 30_000, idleMs: 60_000, sessionUrlMs: 60_000, quietMs: 60_000 },
    database: { transaction: async (work: (trx: unknown) => unknown) => work(undefined) },
    audit: { record: async () => whileAudited() },
    log: { error: nothing, warn: nothing, info: nothing },
  } as unknown as Parameters<typeof createHub>[0]);
  const claim = (more: object = {}) =>
    backplane.request(deviceKeyOf(device), {
      ...{ kind: 'claim', owner: 'till', organizationId: 'o', clientId: 'k', author: {} },
      ...{ takeOver: false, force: false, ...more },
    });
  return { hub, claim, backplane };
}

describe('a node and its devices', () => {
  it('keeps the younger of two connections, in whichever order they come', async () => {
    const { hub, claim } = sample();
    const [younger, elder] = [peerOf(), peerOf()];
    hub.attach(device, younger.peer, { connectionId: 'b', order: 10 });
    hub.attach(device, elder.peer, { connectionId: 'z', order: 9 });
    assert.deepEqual([younger.closings, elder.closings], [[], [closeCodes.superseded]]);
    assert.equal(hub.connected()[0]?.connectionId, 'b');
    elder.end();
    assert.ok((await claim())?.['sessionId']);
    const next = peerOf();
    hub.attach(device, next.peer, { connectionId: 'a', order: 11 });
    assert.deepEqual(younger.closings, [closeCodes.superseded]);
  });

  it('tells nothing of a device that has connected elsewhere', () => {
    const { hub, backplane } = sample();
    const one = peerOf();
    hub.attach(device, one.peer, { connectionId: 'a', order: 1 });
    const told: unknown[] = [];
    const topic = deviceTopic(deviceKeyOf(device));
    backplane.subscribe(topic, ({ kind, online }) => void (kind === 'status' && told.push(online)));
    backplane.publish(topic, { kind: 'attached', connectionId: 'b', order: 2 });
    assert.deepEqual(one.closings, [closeCodes.superseded]);
    one.end();
    assert.ok(!told.includes(false), JSON.stringify(told));
    assert.deepEqual(hub.connected(), []);
    const back = peerOf();
    hub.attach(device, back.peer, { connectionId: 'c', order: 3 });
    back.end();
    assert.equal(told.at(-1), false);
  });

  it('gives no session with a device that has gone while a takeover was written down', async () => {
    const one = peerOf();
    const { hub, claim } = sample(one.end);
    hub.attach(device, one.peer, { connectionId: 'a', order: 1 });
    const { sessionId } = (await claim()) ?? {};
    hub.useAddress(String(sessionId));
    hub.join(String(sessionId), one.peer);
    const answer = await claim({ takeOver: true, force: true });
    assert.equal(answer?.['code'], 'device_offline', JSON.stringify(answer));
  });
});
