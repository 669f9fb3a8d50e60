// User names, groups and the requirement of a second factor: pure, so tested without a database.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  areGroupsAllowed,
  effectiveSecondFactor,
  permissionsOfGroups,
  requiresSecondFactor,
  toUsernameKey,
} from './username-and-group-rules.ts';

const organization = '0197f3a0-0000-7000-8000-000000000001';
const merchant = '0197f3a0-0000-7000-8000-000000000002';

describe('a user name', () => {
  test('is compared in one Unicode form and in lower case', () => {
    for (const name of ['Ann', 'ANN', 'ａｎｎ', 'Ａnn']) assert.equal(toUsernameKey(name), 'ann');
    assert.equal(toUsernameKey('ann@shop.example'), 'ann@shop.example');
    assert.equal(toUsernameKey('7.a_b+c-d'), '7.a_b+c-d');
    assert.equal(toUsernameKey('a'.repeat(64)), 'a'.repeat(64));
  });

  test('rejects look-alike letters, control characters and long names', () => {
    const refused = [
      '',
      ' ',
      'аnn',
      'ann ',
      'an\0n',
      'ann\n',
      '.ann',
      '@demo',
      'a'.repeat(65),
      'rené',
    ];
    // A Cyrillic a, a Greek o, a dotless i, a joiner, a direction mark, a lone surrogate.
    refused.push('bοb', 'tıll', 'a\u200dnn', '\u202eann', '\ud800', `ａ${'a'.repeat(300)}`);
    for (const name of refused) assert.equal(toUsernameKey(name), undefined, JSON.stringify(name));
  });

  test('maps any text to a stable key or to no key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (name) => {
        const key = toUsernameKey(name);
        if (key !== undefined) assert.equal(toUsernameKey(key), key);
      }),
    );
  });
});

describe('groups', () => {
  // Spec: GRP-10
  test('must belong to the entity and level of the user, each once', () => {
    const fits = (group: string, type: 'tenant' | 'merchant', entity: string) =>
      areGroupsAllowed([group], type, entity);
    assert.ok(fits(`${organization}_org_admin`, 'tenant', organization));
    assert.ok(fits(`${merchant}_merchant_manager`, 'merchant', merchant));
    assert.ok(fits(`${merchant}_org_operator`, 'merchant', merchant));
    assert.equal(fits(`${merchant}_org_admin`, 'merchant', merchant), false);
    assert.equal(fits(`${organization}_org_operator`, 'tenant', organization), false);
    assert.equal(fits(`${merchant}_org_admin`, 'tenant', organization), false);
    assert.equal(fits(`${organization}_toString`, 'tenant', organization), false);
    assert.equal(fits('org_admin', 'tenant', organization), false);
    const twice = [`${organization}_org_admin`, `${organization}_org_admin`];
    assert.equal(areGroupsAllowed(twice, 'tenant', organization), false);
  });

  test('give the union of their permissions, in the published order', () => {
    const groups = [`${merchant}_org_operator`, `${merchant}_org_supervisor`];
    const permissions = permissionsOfGroups(groups, 'merchant', merchant);
    assert.deepEqual(permissions, [
      'prov.read',
      'pay.sale',
      'pay.read',
      'pay.refundbyweb',
      'rep.read',
    ]);
    assert.deepEqual(permissionsOfGroups(groups, 'merchant', organization), []);
  });
});

describe('the second factor', () => {
  test('is required in production of all users but store staff', () => {
    const needs = (environment: string, ...groups: string[]) =>
      requiresSecondFactor(
        environment,
        groups.map((group) => `${merchant}_${group}`),
      );
    assert.ok(needs('production', 'merchant_manager'));
    assert.ok(needs('production', 'org_admin'));
    assert.ok(needs('production', 'org_operator', 'merchant_manager'));
    assert.ok(needs('production'));
    assert.equal(needs('production', 'org_operator'), false);
    assert.equal(needs('production', 'org_operator', 'org_supervisor'), false);
    assert.equal(needs('demo', 'merchant_manager'), false);
    assert.equal(needs('test', 'org_admin'), false);
  });

  test('a stricter rule applies at the next sign-in', () => {
    const groups = [`${merchant}_merchant_manager`];
    assert.equal(effectiveSecondFactor('production', { groups, secondFactor: 'Off' }), 'Required');
    assert.equal(effectiveSecondFactor('demo', { groups, secondFactor: 'Off' }), 'Off');
    assert.equal(effectiveSecondFactor('demo', { groups, secondFactor: 'Required' }), 'Required');
    assert.equal(effectiveSecondFactor('production', { groups, secondFactor: 'On' }), 'On');
  });
});
