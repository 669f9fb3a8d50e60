// Tests requested and granted scopes: defaults, repetitions, unknown scopes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { grantMachineScope, grantUserScope } from './scopes.ts';

test('a user is granted the requested scopes, once each and in that order', () => {
  assert.deepEqual(grantUserScope('email openid'), { granted: 'email openid' });
  assert.deepEqual(grantUserScope('openid  openid profile'), { granted: 'openid profile' });
  const all = 'openid profile email phone address auth';
  assert.deepEqual(grantUserScope(all), { granted: all });
});

// Spec: INFO-8
test('without a scope the default of the specification is granted', () => {
  for (const requested of [undefined, '', ' ']) {
    assert.deepEqual(grantUserScope(requested), { granted: 'openid profile email' });
  }
  assert.deepEqual(grantMachineScope(undefined), { granted: 'profile email' });
});

test('an unknown scope is named, and letter case counts', () => {
  assert.deepEqual(grantUserScope('openid admin'), { unknown: 'admin' });
  assert.deepEqual(grantUserScope('OpenID'), { unknown: 'OpenID' });
  assert.deepEqual(grantMachineScope('profile constructor'), { unknown: 'constructor' });
});

test('a machine is granted all but openid', () => {
  assert.deepEqual(grantMachineScope('openid auth'), { granted: 'auth' });
  assert.deepEqual(grantMachineScope('openid'), { granted: undefined });
});
