import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import type { Caller } from '../authentication/caller.ts';
import { callerWith } from '../server/sample-server.fixture.ts';
import { createConnectionSlots } from './connection-limits.ts';

const limits = { perClient: 2, perDevice: 2, perOrganization: 10, total: 5 };
const client = callerWith();
const device: Caller = { ...client, deviceId: 'device-1' };
const other = (name: string): Caller => ({ ...client, clientId: name });

function refusedWith(code: string) {
  return (error: unknown) => error instanceof ProblemError && error.code === code;
}

describe('the limits of waiting connections', () => {
  it('a client gets a slot back for each connection that it closes', () => {
    const slots = createConnectionSlots(limits);
    const ended: string[] = [];
    const leave = slots.acquire(client, () => ended.push('first'));
    slots.acquire(client, () => ended.push('second'));
    assert.throws(() => slots.acquire(client, () => {}), refusedWith('rate_limited'));
    leave();
    leave();
    assert.equal(slots.count(), 1);
    slots.acquire(client, () => {});
    assert.throws(() => slots.acquire(client, () => {}), refusedWith('rate_limited'));
    assert.deepEqual(ended, []);
  });

  it('clients with the same id in two organisations are counted separately', () => {
    const slots = createConnectionSlots(limits);
    for (const organizationId of ['one', 'one', 'two', 'two']) {
      slots.acquire({ ...client, organizationId }, () => {});
    }
    assert.equal(slots.count(), 4);
  });

  it('a new connection of a device at its limit replaces the oldest one', () => {
    const slots = createConnectionSlots({ ...limits, total: 2 });
    const ended: string[] = [];
    const acquire = (name: string) =>
      slots.acquire(device, (reason) => ended.push(`${name} ${reason}`));
    const first = acquire('first');
    acquire('second');
    acquire('third');
    assert.deepEqual(ended, ['first replaced']);
    // It says so late.
    first();
    assert.equal(slots.count(), 2);
    acquire('fourth');
    assert.deepEqual(ended, ['first replaced', 'second replaced']);
  });

  it('devices of one client are counted separately from each other and from the client', () => {
    const slots = createConnectionSlots({ ...limits, total: 100 });
    for (const n of [1, 2, 3]) {
      for (const _ of [1, 2]) slots.acquire({ ...device, deviceId: `d-${n}` }, assert.fail);
    }
    slots.acquire(client, assert.fail);
    assert.equal(slots.count(), 7);
  });

  it('an organisation has one limit for all its clients, also when they act on behalf of others', () => {
    const slots = createConnectionSlots({ ...limits, perOrganization: 3, total: 100 });
    const below = { organizationId: 'below', homeOrganizationId: client.organizationId };
    const leave = slots.acquire(other('a'), () => {});
    slots.acquire(other('b'), () => {});
    slots.acquire({ ...other('b'), ...below }, () => {});
    for (const refused of [other('c'), { ...other('d'), ...below }, other('b')]) {
      assert.throws(() => slots.acquire(refused, () => {}), refusedWith('rate_limited'));
    }
    slots.acquire({ ...other('a'), organizationId: 'another' }, () => {});
    slots.acquire(device, () => {});
    leave();
    leave();
    slots.acquire(other('c'), () => {});
    assert.throws(() => slots.acquire(other('d'), () => {}), refusedWith('rate_limited'));
  });

  it('all callers share a total limit', () => {
    const slots = createConnectionSlots(limits);
    const leaves = ['a', 'b', 'c', 'd', 'e'].map((name) => slots.acquire(other(name), () => {}));
    assert.throws(() => slots.acquire(other('f'), () => {}), refusedWith('overloaded'));
    assert.throws(() => slots.acquire(device, () => {}), refusedWith('overloaded'));
    leaves[0]?.();
    slots.acquire(device, () => {});
    assert.equal(slots.count(), 5);
  });
});
