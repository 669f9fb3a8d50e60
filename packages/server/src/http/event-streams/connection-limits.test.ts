import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Refusal } from '@switchyard/contract';
import type { Caller } from '../authentication/caller.ts';
import { callerWith } from '../server/sample-server.fixture.ts';
import { createConnectionSlots } from './connection-limits.ts';

const limits = { perClient: 2, perDevice: 2, perOrganization: 10, total: 5 };
const client = callerWith();
const device: Caller = { ...client, deviceId: 'device-1' };
const other = (name: string): Caller => ({ ...client, clientId: name });

function refusedWith(code: string) {
  return (error: unknown) => error instanceof Refusal && error.code === code;
}

describe('the limits of waiting connections', () => {
  it('a client gets a slot back for each connection that it closes', () => {
    const places = createConnectionSlots(limits);
    const ended: string[] = [];
    const leave = places.acquire(client, () => ended.push('first'));
    places.acquire(client, () => ended.push('second'));
    assert.throws(() => places.acquire(client, () => {}), refusedWith('rate_limited'));
    leave();
    leave();
    assert.equal(places.count(), 1);
    places.acquire(client, () => {});
    assert.throws(() => places.acquire(client, () => {}), refusedWith('rate_limited'));
    assert.deepEqual(ended, []);
  });

  it('clients with the same id in two organisations are counted separately', () => {
    const places = createConnectionSlots(limits);
    for (const organizationId of ['one', 'one', 'two', 'two']) {
      places.acquire({ ...client, organizationId }, () => {});
    }
    assert.equal(places.count(), 4);
  });

  it('a new connection of a device at its limit replaces the oldest one', () => {
    const places = createConnectionSlots({ ...limits, total: 2 });
    const ended: string[] = [];
    const take = (name: string) =>
      places.acquire(device, (reason) => ended.push(`${name} ${reason}`));
    const first = take('first');
    take('second');
    take('third');
    assert.deepEqual(ended, ['first replaced']);
    // It says so late.
    first();
    assert.equal(places.count(), 2);
    take('fourth');
    assert.deepEqual(ended, ['first replaced', 'second replaced']);
  });

  it('devices of one client are counted separately from each other and from the client', () => {
    const places = createConnectionSlots({ ...limits, total: 100 });
    for (const n of [1, 2, 3]) {
      for (const _ of [1, 2]) places.acquire({ ...device, deviceId: `d-${n}` }, assert.fail);
    }
    places.acquire(client, assert.fail);
    assert.equal(places.count(), 7);
  });

  it('an organisation has one limit for all its clients, also when they act on behalf of others', () => {
    const places = createConnectionSlots({ ...limits, perOrganization: 3, total: 100 });
    const below = { organizationId: 'below', homeOrganizationId: client.organizationId };
    const leave = places.acquire(other('a'), () => {});
    places.acquire(other('b'), () => {});
    places.acquire({ ...other('b'), ...below }, () => {});
    for (const refused of [other('c'), { ...other('d'), ...below }, other('b')]) {
      assert.throws(() => places.acquire(refused, () => {}), refusedWith('rate_limited'));
    }
    places.acquire({ ...other('a'), organizationId: 'another' }, () => {});
    places.acquire(device, () => {});
    leave();
    leave();
    places.acquire(other('c'), () => {});
    assert.throws(() => places.acquire(other('d'), () => {}), refusedWith('rate_limited'));
  });

  it('all callers share a total limit', () => {
    const places = createConnectionSlots(limits);
    const leaves = ['a', 'b', 'c', 'd', 'e'].map((name) => places.acquire(other(name), () => {}));
    assert.throws(() => places.acquire(other('f'), () => {}), refusedWith('overloaded'));
    assert.throws(() => places.acquire(device, () => {}), refusedWith('overloaded'));
    leaves[0]?.();
    places.acquire(device, () => {});
    assert.equal(places.count(), 5);
  });
});
