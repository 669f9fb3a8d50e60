import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Refusal } from '@switchyard/contract';
import type { Caller } from '../authentication/caller.ts';
import { callerWith } from '../server/sample-server.fixture.ts';
import { createPlaces } from './connection-limits.ts';

const limits = { perClient: 2, perDevice: 2, perOrganization: 10, inAll: 5 };
const client = callerWith();
const device: Caller = { ...client, deviceId: 'device-1' };
const other = (name: string): Caller => ({ ...client, clientId: name });

function refusedWith(code: string) {
  return (error: unknown) => error instanceof Refusal && error.code === code;
}

describe('places of those who wait', () => {
  it('a client has so many, and gets one back for each that it leaves', () => {
    const places = createPlaces(limits);
    const ended: string[] = [];
    const leave = places.take(client, () => ended.push('first'));
    places.take(client, () => ended.push('second'));
    assert.throws(() => places.take(client, () => {}), refusedWith('rate_limited'));
    leave();
    leave();
    assert.equal(places.taken(), 1);
    places.take(client, () => {});
    assert.throws(() => places.take(client, () => {}), refusedWith('rate_limited'));
    assert.deepEqual(ended, []);
  });

  it('clients of one name in two organisations are two', () => {
    const places = createPlaces(limits);
    for (const organizationId of ['one', 'one', 'two', 'two']) {
      places.take({ ...client, organizationId }, () => {});
    }
    assert.equal(places.taken(), 4);
  });

  it('a device that comes back takes the place of its oldest connection', () => {
    const places = createPlaces({ ...limits, inAll: 2 });
    const ended: string[] = [];
    const take = (name: string) => places.take(device, (reason) => ended.push(`${name} ${reason}`));
    const first = take('first');
    take('second');
    take('third');
    assert.deepEqual(ended, ['first replaced']);
    // It says so late.
    first();
    assert.equal(places.taken(), 2);
    take('fourth');
    assert.deepEqual(ended, ['first replaced', 'second replaced']);
  });

  it('devices of one client are counted apart from each other and from it', () => {
    const places = createPlaces({ ...limits, inAll: 100 });
    for (const n of [1, 2, 3]) {
      for (const _ of [1, 2]) places.take({ ...device, deviceId: `d-${n}` }, assert.fail);
    }
    places.take(client, assert.fail);
    assert.equal(places.taken(), 7);
  });

  it('an organisation has so many, however many clients it has and wherever they act', () => {
    const places = createPlaces({ ...limits, perOrganization: 3, inAll: 100 });
    const below = { organizationId: 'below', homeOrganizationId: client.organizationId };
    const leave = places.take(other('a'), () => {});
    places.take(other('b'), () => {});
    places.take({ ...other('b'), ...below }, () => {});
    for (const refused of [other('c'), { ...other('d'), ...below }, other('b')]) {
      assert.throws(() => places.take(refused, () => {}), refusedWith('rate_limited'));
    }
    places.take({ ...other('a'), organizationId: 'another' }, () => {});
    places.take(device, () => {});
    leave();
    leave();
    places.take(other('c'), () => {});
    assert.throws(() => places.take(other('d'), () => {}), refusedWith('rate_limited'));
  });

  it('there are so many in all, whoever asks', () => {
    const places = createPlaces(limits);
    const leaves = ['a', 'b', 'c', 'd', 'e'].map((name) => places.take(other(name), () => {}));
    assert.throws(() => places.take(other('f'), () => {}), refusedWith('overloaded'));
    assert.throws(() => places.take(device, () => {}), refusedWith('overloaded'));
    leaves[0]?.();
    places.take(device, () => {});
    assert.equal(places.taken(), 5);
  });
});
