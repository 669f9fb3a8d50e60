// Users: create with validation, disable, set a new password.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { testDatabase } from '../../../../test/support/database/test-database.ts';
import {
  openTestAccounts,
  type TestAccounts,
  testPassword,
} from '../../../../test/support/identity/test-accounts.ts';
import type { Database } from '../../../platform/index.ts';
import { userCacheTtlMs } from '../index.ts';
import type { NewUser } from '../types.ts';

describe('a user', () => {
  let database: Database;
  let setup: TestAccounts;

  before(async () => {
    database = await testDatabase();
    setup = await openTestAccounts(database);
  });

  test('is found as it was created', async () => {
    const merchantId = randomUUID();
    const facts = {
      username: `Ann.${randomUUID()}`,
      entityType: 'merchant',
      entityId: merchantId,
      email: 'Ann@Shop.example',
      givenName: 'Ann',
      familyName: 'Øre',
      phoneNumber: '+33 1 23 45 67 89',
      address: { formatted: '1 rue X\nParis', country: 'FR' },
      locale: 'fr-FR',
      zoneinfo: 'Europe/Paris',
      datetimeFormat: 'dd/MM/yyyy',
      groups: [`${merchantId}_org_operator`],
    } as const;
    const made = await setup.createUser(facts);
    assert.match(made.userId, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    const user = await setup.accounts.find(setup.organizationId, made.userId);
    assert.deepEqual(user, defined(made));
    assert.deepEqual(user?.permissions, ['pay.sale', 'pay.read']);
    assert.equal(user?.scopeEntityId, merchantId);
    assert.deepEqual(
      await setup.accounts.findByName(setup.organizationId, facts.username.toLowerCase()),
      user,
    );
  });

  test('has a unique name in its organisation, in upper and lower case', async () => {
    const { username } = await setup.createUser();
    await assert.rejects(setup.createUser({ username: username.toUpperCase() }), /already_exists/);
    const elsewhere = await openTestAccounts(database);
    await elsewhere.createUser({ username });
    const names = Array.from({ length: 6 }, () => setup.createUser({ username: 'at-once' }));
    const ends = await Promise.allSettled(names);
    assert.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
  });

  test('is rejected with inconsistent data', async () => {
    const { organizationId } = setup;
    const merchantId = randomUUID();
    const ofMerchant = { entityType: 'merchant', entityId: merchantId, groups: [] } as const;
    const cases: [Partial<NewUser>, RegExp][] = [
      [{ username: 'a b' }, /field_invalid/],
      [{ username: 'x\0' }, /field_invalid/],
      [{ groups: [`${organizationId}_merchant_manager`] }, /field_invalid/],
      [{ groups: [`${merchantId}_org_admin`] }, /field_invalid/],
      [{ ...ofMerchant, groups: [`${merchantId}_org_admin`] }, /field_invalid/],
      [{ entityId: merchantId }, /entity_mismatch/],
      [{ ...ofMerchant, scopeEntityId: randomUUID() }, /entity_mismatch/],
      [
        { ...ofMerchant, scopeEntityType: 'tenant', scopeEntityId: organizationId },
        /entity_mismatch/,
      ],
      [{ email: 'ann' }, /field_invalid/],
      [{ email: 'ann@shop.example\r\nBcc: eve@x.example' }, /field_invalid/],
      [{ email: 'Ann <ann@shop.example>' }, /field_invalid/],
      [{ givenName: 'A\0' }, /field_invalid/],
      [{ familyName: 'x'.repeat(201) }, /field_invalid/],
      [{ locale: 'not a locale' }, /field_invalid/],
      [{ zoneinfo: 'Mars/Phobos' }, /field_invalid/],
      [{ phoneNumber: 'call me' }, /field_invalid/],
      [{ secondFactor: 'On' }, /field_invalid/],
      [{ otpSecret: 'GEZDGNBV' }, /field_invalid/],
      [{ password: 'too short' }, /field_invalid/],
      [{ userDomainId: 'another' }, /organization_not_found/],
      [{ userId: 'ann' }, /field_invalid/],
    ];
    for (const [facts, code] of cases) {
      await assert.rejects(setup.createUser(facts), code, JSON.stringify(facts));
    }
  });

  test('of the organisation may act on one of its merchants', async () => {
    const scope = { scopeEntityType: 'merchant', scopeEntityId: randomUUID() } as const;
    const user = await setup.createUser(scope);
    assert.equal(user.entityId, setup.organizationId);
    assert.equal(user.scopeEntityId, scope.scopeEntityId);
  });

  // Spec: USER-6 STATE-2
  test('is disabled at once in this process, and within seconds in others', async () => {
    const user = await setup.createUser();
    const { organizationId, userId } = user;
    const elsewhere = await openTestAccounts(database, { clock: setup.clock });
    assert.equal((await elsewhere.accounts.find(organizationId, userId))?.status, 'Enabled');
    assert.ok((await setup.signIn(user)).ok);
    setup.clock.advance(250);
    await setup.accounts.setStatus(organizationId, userId, 'Disabled');
    assert.deepEqual(setup.endedUserIds.splice(0), [userId]);
    const current = await setup.accounts.find(organizationId, userId);
    assert.equal(current?.status, 'Disabled');
    assert.equal((current?.tokensNotBefore ?? 0) % 1000, 0);
    assert.ok((current?.tokensNotBefore ?? 0) >= setup.clock.now());
    assert.equal((await setup.signIn(user)).ok, false);
    setup.clock.advance(userCacheTtlMs + 1);
    assert.equal((await elsewhere.accounts.find(organizationId, userId))?.status, 'Disabled');
    await setup.accounts.setStatus(organizationId, userId, 'Enabled');
    assert.deepEqual(setup.endedUserIds, []);
    assert.ok((await setup.signIn(user)).ok);
  });

  test('with a new password is signed out everywhere, gets an email, and is no longer locked', async () => {
    const user = await setup.createUser();
    const { organizationId, userId } = user;
    for (let index = 0; index < 10; index += 1) await setup.signIn(user, { password: 'x' });
    const newer = 'eight tills under one roof';
    await assert.rejects(
      setup.accounts.setPassword(organizationId, userId, 'too short'),
      /field_invalid/,
    );
    await setup.accounts.setPassword(organizationId, userId, newer);
    assert.deepEqual(setup.endedUserIds.splice(0), [userId]);
    assert.equal((await setup.signIn(user, { password: testPassword })).ok, false);
    assert.ok((await setup.signIn(user, { password: newer })).ok);
    const current = await setup.accounts.find(organizationId, userId);
    assert.ok((current?.tokensNotBefore ?? Number.POSITIVE_INFINITY) <= setup.clock.now());
    const [mail] = await setup.mailRecorder.deliver();
    assert.equal(mail?.subject, 'Your password was changed · Switchyard');
    assert.equal(mail?.to, user.email);
  });

  test('that does not exist is not found and cannot be changed', async () => {
    const { accounts, organizationId } = setup;
    for (const id of [randomUUID(), 'x', '\0', '']) {
      assert.equal(await accounts.find(organizationId, id), undefined);
    }
    assert.equal(await accounts.findByName(organizationId, '\0'), undefined);
    const unknownUserId = randomUUID();
    await assert.rejects(
      accounts.setStatus(organizationId, unknownUserId, 'Disabled'),
      /not_found/,
    );
    await assert.rejects(
      accounts.setPassword(organizationId, unknownUserId, testPassword),
      /not_found/,
    );
  });
});
