// Scopes as they are asked for and granted: the default, repetitions, unknown ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineScope, userScope } from './scopes.ts';

test('a person is granted what is asked for, once each and in that order', () => {
  assert.deepEqual(userScope('email openid'), { granted: 'email openid' });
  assert.deepEqual(userScope('openid  openid profile'), { granted: 'openid profile' });
  const all = 'openid profile email phone address auth';
  assert.deepEqual(userScope(all), { granted: all });
});

test('without a scope the default of the specification is granted', () => {
  for (const requested of [undefined, '', ' ']) {
    assert.deepEqual(userScope(requested), { granted: 'openid profile email' });
  }
  assert.deepEqual(machineScope(undefined), { granted: 'profile email' });
});

test('an unknown scope is named, and letter case counts', () => {
  assert.deepEqual(userScope('openid admin'), { unknown: 'admin' });
  assert.deepEqual(userScope('OpenID'), { unknown: 'OpenID' });
  assert.deepEqual(machineScope('profile constructor'), { unknown: 'constructor' });
});

test('a machine is granted all but openid', () => {
  assert.deepEqual(machineScope('openid auth'), { granted: 'auth' });
  assert.deepEqual(machineScope('openid'), { granted: undefined });
});
