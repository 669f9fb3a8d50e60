// Whole run: much is made, or waited for, before it shows.
// Chapter "User management" over TLS: invite, list, edit, disable, and reset access.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { defined, type GroupName } from '@switchyard/contract';
import { assertProblem } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import type { HttpResponse, RequestOptions } from '../support/https-client.ts';
import { createTestUser, newOtpSecret } from '../support/identity/test-users.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/user-management/v2/user-domains';
const password = 'nine tills under one long roof';

describe('users', () => {
  let setup: TestOrganization;
  let other: TestOrganization;
  let merchantId: string;
  let managerToken: string;
  before(async () => {
    setup = await createTestOrganization();
    other = await createTestOrganization();
    ({ merchantId } = setup.merchant);
    managerToken = await tokenOf('merchant_manager', merchantId);
  });

  const call = (method: string, path: string, options: RequestOptions = {}, realm = setup.realm) =>
    setup.client.call(method, `${base}/${realm}/users${path}`, {
      token: setup.acquirerToken,
      ...options,
    });

  const inputOf = (members: object = {}) => ({
    username: `ann-${randomUUID()}`,
    entityId: merchantId,
    scope: merchantId,
    email: `ann-${randomUUID()}@shop.example`,
    groups: [`${merchantId}_org_operator`],
    ...members,
  });

  async function create(members: object = {}, options: RequestOptions = {}): Promise<HttpResponse> {
    const answer = await call('POST', '', { body: inputOf(members), ...options });
    assert.equal(answer.status, 201, answer.text);
    return answer;
  }

  /** Waits for this number of mails to an address and returns the newest. */
  function mailTo(address: string, count = 1): Promise<string> {
    const directory = join(setup.settings.dataDir, 'mail');
    return until(async () => {
      const names = (await readdir(directory)).filter((name) => name.endsWith('.eml')).sort();
      const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
      const mails = texts.filter((text) => text.includes(`To: ${address}`));
      return mails.length >= count ? mails.at(-1) : undefined;
    }, `mail to ${address}`);
  }

  const linkIn = (mail: string) =>
    /\/links\/([\w-]{43})/.exec(mail.replaceAll(/=\r?\n/g, ''))?.[1] ?? '';

  const follow = (link: string, organizationId = setup.organizationId) =>
    setup.platform.identity.accounts.emailLinks.redeem(organizationId, link, password);

  const form = (fields: Record<string, string>, realm = setup.realm) =>
    setup.client.call('POST', `/oauth2/v1/${realm}/token`, {
      raw: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });

  async function signIn(
    username: string,
    secret: string,
    realm = setup.realm,
  ): Promise<HttpResponse> {
    const { clientId } = await setup.platform.identity.createPublicApplication({
      organizationId: realm === setup.realm ? setup.organizationId : other.organizationId,
      userDomainId: realm,
      name: 'Device',
      entityType: 'tenant',
      entityId: realm === setup.realm ? setup.organizationId : other.organizationId,
      roles: [],
      securityFlows: ['Password'],
    });
    const grant = { grant_type: 'password', client_id: clientId, username, password: secret };
    return form(grant, realm);
  }

  /** A token of a new user in this group. */
  async function tokenOf(group: GroupName, ofMerchant?: string): Promise<string> {
    const where = {
      identity: setup.platform.identity,
      organizationId: setup.organizationId,
      userDomainId: setup.realm,
    };
    const facts = defined({ merchantId: ofMerchant });
    const person = await createTestUser(where, { ...facts, group });
    const { body } = await signIn(person.user.username, person.password);
    return String(body.access_token);
  }

  const auditOf = async (userId: string): Promise<string[]> => {
    const database = await testDatabase();
    const rows = await database.query<{ action: string }>(
      `SELECT action FROM audit_records WHERE organization_id = $1 AND entity_id = $2
       ORDER BY sequence`,
      [setup.organizationId, userId],
    );
    return rows.map(({ action }) => action);
  };

  // Spec: USER-1 UM-2 UM-3 UM-5 VER-7
  test('a user is created, gets a link by mail that works once, and signs in with a new password', async () => {
    const input = inputOf({
      givenName: 'Ann',
      familyName: 'Carter',
      phoneNumber: '+33639980010',
      address: { street_address: '1 rue X', country: 'FR' },
      locale: 'fr-FR',
      zoneinfo: 'Europe/Paris',
      datetimeFormat: 'dd/MM/yyyy HH:mm',
    });
    const { body, headers } = await create(input);
    const { userId, createdAt, updatedAt, ...facts } = body;
    assert.deepEqual(facts, {
      ...input,
      userDomainId: setup.realm,
      organizationId: setup.organizationId,
      emailVerified: false,
      status: 'activated',
      secondFactor: 'Off',
    });
    assert.equal(updatedAt, createdAt);
    assert.equal(headers['location'], `${base}/${setup.realm}/users/${userId}`);
    assert.equal(headers['etag'], '"1"');
    assert.deepEqual((await call('GET', `/${userId}`)).body, body);
    const mail = await mailTo(input.email);
    assert.match(mail, /Content-Language: fr/i);
    assert.match(mail, /text\/html/);
    const link = linkIn(mail);
    assert.equal((await follow(link))?.userId, userId);
    assert.equal(await follow(link), undefined, 'a link is good once');
    assert.equal((await signIn(input.username, password)).status, 200);
    assert.equal((await call('GET', `/${userId}`)).body.emailVerified, true);
    assert.deepEqual(await auditOf(userId), ['user.created']);
  });

  // Spec: UM-3
  test('the link is valid for 24 hours', async () => {
    const { body } = await create();
    const database = await testDatabase();
    const rows = await database.query<{ hours: number; purpose: string }>(
      `SELECT extract(epoch FROM expires_at - created_at)::int / 3600 AS hours, purpose
       FROM user_links WHERE organization_id = $1 AND user_id = $2`,
      [setup.organizationId, body.userId],
    );
    assert.deepEqual(rows, [{ hours: 24, purpose: 'activate' }]);
    const link = linkIn(await mailTo(body.email));
    await database.query(
      `UPDATE user_links SET expires_at = created_at WHERE organization_id = $1 AND user_id = $2`,
      [setup.organizationId, body.userId],
    );
    assert.equal(await follow(link), undefined, 'an expired link lets nobody in');
  });

  // Spec: USER-1 UM-1 ONB-1
  test('users are listed by entity, name and status, page by page', async () => {
    const head = `page-${randomUUID().slice(0, 8)}`;
    const names = ['a', 'b', 'c'].map((tail) => `${head}-${tail}`);
    const made = await Promise.all(names.map((username) => create({ username })));
    const ofOrganization = { entityId: setup.organizationId, scope: merchantId, groups: [] };
    await create({ username: `${head}-d`, ...ofOrganization });
    const namesOf = ({ body }: HttpResponse) =>
      body.items.map(({ username }: { username: string }) => username);
    const first = await call('GET', `?username=${head.toUpperCase()}&limit=2`);
    assert.deepEqual(namesOf(first), names.slice(0, 2));
    const cursor = String(first.body.nextCursor);
    const rest = await call('GET', `?username=${head.toUpperCase()}&limit=2&cursor=${cursor}`);
    assert.deepEqual(namesOf(rest), [names[2], `${head}-d`]);
    assert.equal(rest.body.nextCursor, null);
    const merchantUsers = await call('GET', `?username=${head}&entityId=${merchantId}`);
    assert.deepEqual(namesOf(merchantUsers), names);
    await call('PUT', `/${made[1]?.body.userId}/status`, { body: { status: 'deactivated' } });
    const deactivated = await call('GET', `?username=${head}&status=deactivated`);
    assert.deepEqual(namesOf(deactivated), [names[1]]);
    assert.deepEqual(namesOf(await call('GET', '?username=100%25_')), []);
    assertProblem(await call('GET', `?limit=2&cursor=${cursor}`), { code: 'cursor_invalid' });
    assertProblem(await call('GET', '?status=Enabled'), { code: 'field_invalid' });
  });

  // Spec: USER-2 USER-3 USER-4 USER-5 UM-4 ONB-3
  test('an edit replaces the profile, and read-only members are refused by name', async () => {
    const { body: user } = await create({ givenName: 'Ann', locale: 'en-GB' });
    const path = `/${user.userId}`;
    const edited = await call('PUT', path, {
      body: { ...user, familyName: 'Carter', locale: undefined },
      headers: { 'if-match': '"1"' },
    });
    assert.equal(edited.status, 200, edited.text);
    assert.equal(edited.headers['etag'], '"2"');
    const { locale: _locale, updatedAt: _at, ...unchangedMembers } = user;
    assert.deepEqual(edited.body, {
      ...unchangedMembers,
      familyName: 'Carter',
      updatedAt: edited.body.updatedAt,
    });
    const stale = { body: { givenName: 'Eve' }, headers: { 'if-match': '"1"' } };
    assertProblem(await call('PUT', path, stale), { code: 'precondition_failed' });
    for (const [member, value] of [
      ['username', 'somebody-else'],
      ['entityId', setup.otherMerchant.merchantId],
      ['scope', setup.organizationId],
      ['userId', randomUUID()],
      ['status', 'deactivated'],
    ] as const) {
      const refused = await call('PUT', path, { body: { [member]: value } });
      assertProblem(refused, { code: 'field_read_only', pointer: `/${member}` }, member);
    }
    assertProblem(await call('PUT', path, { body: { nickname: 'x' } }), { code: 'field_unknown' });
    assert.deepEqual(await auditOf(user.userId), ['user.created', 'user.updated']);
  });

  test('a changed address takes effect once the link sent to it is followed', async () => {
    const { body: user } = await create();
    await follow(linkIn(await mailTo(user.email)));
    const email = `new-${randomUUID()}@shop.example`;
    const edited = await call('PUT', `/${user.userId}`, { body: { email } });
    assert.deepEqual([edited.body.email, edited.body.pendingEmail], [user.email, email]);
    const again = await call('PUT', `/${user.userId}`, { body: { email, givenName: 'Ann' } });
    assert.equal(again.body.pendingEmail, email);
    await follow(linkIn(await mailTo(email)));
    const { body: moved } = await call('GET', `/${user.userId}`);
    assert.deepEqual([moved.email, moved.pendingEmail], [email, undefined]);
    assert.match(await mailTo(user.email, 2), /Your email address was changed/);
  });

  test('a user who never signed in is invited again at a changed address', async () => {
    const { body: user } = await create();
    const old = linkIn(await mailTo(user.email));
    const email = `right-${randomUUID()}@shop.example`;
    await call('PUT', `/${user.userId}`, { body: { email } });
    const link = linkIn(await mailTo(email));
    assert.equal(await follow(old), undefined, 'the mail to the wrong address is worth nothing');
    assert.equal((await follow(link))?.email, email);
    const { body: moved } = await call('GET', `/${user.userId}`);
    assert.deepEqual([moved.email, moved.emailVerified], [email, true]);
  });

  // Spec: STATE-1 UM-6 ONB-2
  test('a deactivated user is signed out at once, and can sign in again after the activation', async () => {
    const { body: user } = await create({ groups: [`${merchantId}_org_supervisor`] });
    await follow(linkIn(await mailTo(user.email)));
    const { body: tokens } = await signIn(user.username, password);
    const token = String(tokens.access_token);
    const readMerchants = () => setup.client.call('GET', '/provisioning/v2/merchants', { token });
    assert.equal((await readMerchants()).status, 200);
    const path = `/${user.userId}/status`;
    const deactivated = await call('PUT', path, { body: { status: 'deactivated' } });
    assert.deepEqual([deactivated.status, deactivated.body.status], [200, 'deactivated']);
    assert.equal((await readMerchants()).status, 401);
    assert.equal((await signIn(user.username, password)).body.error, 'invalid_grant');
    const reset = await call('POST', `/${user.userId}/reset-password`);
    assertProblem(reset, { code: 'user_deactivated' });
    assert.equal((await call('PUT', path, { body: { status: 'activated' } })).status, 200);
    assert.equal((await signIn(user.username, password)).status, 200);
    assertProblem(await call('PUT', path, { body: { status: 'Enabled' } }), {
      code: 'field_invalid',
      pointer: '/status',
    });
    assert.deepEqual(await auditOf(user.userId), [
      'user.created',
      'user.deactivated',
      'user.activated',
    ]);
  });

  // Spec: UM-7
  test('a password reset sends a link by mail, a few times an hour', async () => {
    const { body: user } = await create();
    await follow(linkIn(await mailTo(user.email)));
    const reset = () => call('POST', `/${user.userId}/reset-password`);
    assert.equal((await reset()).status, 202);
    const link = linkIn(await mailTo(user.email, 2));
    assert.equal(
      (await signIn(user.username, password)).status,
      200,
      'the old one lasts till then',
    );
    const newer = 'ten tills under one longer roof';
    const { accounts } = setup.platform.identity;
    await accounts.emailLinks.redeem(setup.organizationId, link, newer);
    assert.equal((await signIn(user.username, newer)).status, 200);
    assert.equal((await signIn(user.username, password)).status, 400);
    await reset();
    await reset();
    assertProblem(await reset(), { code: 'rate_limited' });
  });

  test('the second factor of another user can be removed, and that user gets a mail', async () => {
    const where = {
      identity: setup.platform.identity,
      organizationId: setup.organizationId,
      userDomainId: setup.realm,
    };
    const email = `phone-${randomUUID()}@shop.example`;
    const facts = { merchantId, email, secondFactor: 'On', otpSecret: newOtpSecret() } as const;
    const { user } = await createTestUser(where, facts);
    const path = `/${user.userId}/reset-second-factor`;
    const answer = await call('POST', path, { token: managerToken });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.secondFactor, 'Required');
    assert.match(await mailTo(email), /Your second factor was removed/);
    const database = await testDatabase();
    const secretRows = await database.query(
      'SELECT 1 FROM user_one_time_passwords WHERE organization_id = $1 AND user_id = $2',
      [setup.organizationId, user.userId],
    );
    assert.deepEqual(secretRows, []);
    assert.deepEqual(await auditOf(user.userId), ['user.secondFactorReset']);
  });

  // Spec: ONB-3
  test('invalid names, groups, scopes and profiles are refused by member', async () => {
    const { body: conflict } = await create();
    const cases: [object, Parameters<typeof assertProblem>[1]][] = [
      [
        { username: conflict.username.toUpperCase() },
        { code: 'already_exists', pointer: '/username' },
      ],
      [{ username: 'a b' }, { code: 'field_invalid', pointer: '/username' }],
      [{ email: 'ann' }, { code: 'field_invalid', pointer: '/email' }],
      [
        { email: 'a@b.example\r\nBcc: eve@x.example' },
        { code: 'field_invalid', pointer: '/email' },
      ],
      [{ phoneNumber: '0639980010' }, { code: 'field_invalid', pointer: '/phoneNumber' }],
      [{ locale: 'french' }, { code: 'field_invalid', pointer: '/locale' }],
      [{ zoneinfo: 'Mars/Base' }, { code: 'field_invalid', pointer: '/zoneinfo' }],
      [{ scope: undefined }, { code: 'field_required', pointer: '/scope' }],
      [{ entityId: undefined }, { code: 'field_required', pointer: '/entityId' }],
      [{ groups: [`${merchantId}_org_admin`] }, { code: 'field_invalid', pointer: '/groups' }],
      [
        { groups: [`${setup.organizationId}_org_custcare`] },
        { code: 'field_invalid', pointer: '/groups' },
      ],
      [
        { groups: [`${setup.otherMerchant.merchantId}_org_operator`] },
        { code: 'field_invalid', pointer: '/groups' },
      ],
      [
        { entityId: setup.organizationId, groups: [`${setup.organizationId}_merchant_manager`] },
        { code: 'field_invalid', pointer: '/groups' },
      ],
      [{ scope: setup.organizationId }, { code: 'entity_mismatch', pointer: '/scope' }],
      [{ scope: setup.otherMerchant.merchantId }, { code: 'entity_mismatch', pointer: '/scope' }],
      [{ entityId: other.merchant.merchantId }, { code: 'merchant_not_found' }],
      [{ entityId: other.organizationId }, { code: 'merchant_not_found' }],
      [
        { entityId: setup.organizationId, scope: other.merchant.merchantId, groups: [] },
        { code: 'merchant_not_found' },
      ],
      [{ isAdmin: true }, { code: 'field_unknown', pointer: '/isAdmin' }],
    ];
    for (const [members, expected] of cases) {
      const answer = await call('POST', '', { body: inputOf(members) });
      assertProblem(answer, expected, JSON.stringify(members));
    }
  });

  // Spec: UM-8
  test('the domain and the users of another organisation are not found', async () => {
    const { body: user } = await create();
    const token = other.acquirerToken;
    const asks: [string, string, unknown][] = [
      ['GET', `/${user.userId}`, undefined],
      ['PUT', `/${user.userId}`, {}],
      ['PUT', `/${user.userId}/status`, { status: 'deactivated' }],
      ['POST', `/${user.userId}/reset-password`, undefined],
      ['POST', `/${user.userId}/reset-second-factor`, undefined],
    ];
    for (const [method, path, body] of asks) {
      const requestOptions = defined({ body });
      for (const realm of [setup.realm, other.realm, 'nowhere']) {
        const answer = await call(method, path, { token, ...requestOptions }, realm);
        assertProblem(answer, { code: 'resource_not_found' }, `${method} ${path} ${realm}`);
      }
      const unknown = path.replace(user.userId, 'nobody');
      assertProblem(
        await call(method, unknown, requestOptions),
        { code: 'resource_not_found' },
        unknown,
      );
    }
    const list = await call('GET', '', { token });
    assertProblem(list, { code: 'resource_not_found' });
    const made = await call('POST', '', { token, body: inputOf() });
    assertProblem(made, { code: 'resource_not_found' });
  });

  // Spec: SVC-25
  test('a manager manages only the users of the own merchant', async () => {
    const { body: ownUser } = await create({}, { token: managerToken });
    const foreign = {
      entityId: setup.otherMerchant.merchantId,
      scope: setup.otherMerchant.merchantId,
    };
    const { body: otherUser } = await create({ ...foreign, groups: [] });
    const { body: above } = await create({
      entityId: setup.organizationId,
      scope: setup.organizationId,
      groups: [],
    });
    const token = managerToken;
    const { body: list } = await call('GET', '?limit=200', { token });
    const ids = list.items.map(({ userId }: { userId: string }) => userId);
    assert.ok(ids.includes(ownUser.userId));
    assert.ok(!ids.includes(otherUser.userId) && !ids.includes(above.userId));
    const elsewhere = await call('GET', `?entityId=${setup.otherMerchant.merchantId}`, { token });
    assert.deepEqual(elsewhere.body.items, []);
    for (const { userId } of [otherUser, above]) {
      assertProblem(await call('GET', `/${userId}`, { token }), { code: 'resource_not_found' });
      const edit = await call('PUT', `/${userId}`, { token, body: {} });
      assertProblem(edit, { code: 'resource_not_found' });
    }
    for (const members of [
      foreign,
      { entityId: setup.organizationId, scope: setup.organizationId },
    ]) {
      const body = inputOf({ ...members, groups: [] });
      const made = await call('POST', '', { token, body });
      assertProblem(made, { code: 'merchant_not_found' });
    }
  });

  test('a user cannot grant permissions that the user does not have, and cannot edit users with such permissions', async () => {
    const { body: admin } = await create({
      entityId: setup.organizationId,
      scope: setup.organizationId,
      groups: [`${setup.organizationId}_org_admin`],
    });
    const token = await setup.tokenFor({
      name: 'onboarding',
      entityType: 'tenant',
      entityId: setup.organizationId,
      roles: ['Onboarding'],
    });
    const body = inputOf({
      entityId: setup.organizationId,
      scope: setup.organizationId,
      groups: [`${setup.organizationId}_org_admin`],
    });
    assertProblem(await call('POST', '', { token, body }), { code: 'permission_denied' });
    const { body: plain } = await create(
      { entityId: setup.organizationId, scope: setup.organizationId, groups: [] },
      { token },
    );
    const groups = [`${setup.organizationId}_org_dev`];
    const raised = await call('PUT', `/${plain.userId}`, { token, body: { groups } });
    assertProblem(raised, { code: 'permission_denied' });
    const asks: [string, string, unknown][] = [
      ['PUT', '', { email: 'eve@x.example' }],
      ['PUT', '/status', { status: 'deactivated' }],
      ['POST', '/reset-password', undefined],
      ['POST', '/reset-second-factor', undefined],
    ];
    for (const [method, path, sent] of asks) {
      const requestOptions = sent === undefined ? { token } : { token, body: sent };
      const answer = await call(method, `/${admin.userId}${path}`, requestOptions);
      assertProblem(answer, { code: 'permission_denied' }, path);
    }
    await create({ groups: [`${merchantId}_merchant_manager`] }, { token });
    await create({ groups: [`${merchantId}_merchant_dev`] }, { token });
    const operator = await tokenOf('org_operator', merchantId);
    assertProblem(await call('GET', '', { token: operator }), { code: 'permission_denied' });
  });

  // Spec: SVC-38
  test('an administrator can grant every group of the organisation and its merchants', async () => {
    const token = await tokenOf('org_admin');
    for (const group of ['org_admin', 'org_custcare', 'org_dfo', 'org_dev']) {
      const at = { entityId: setup.organizationId, scope: setup.organizationId };
      await create({ ...at, groups: [`${setup.organizationId}_${group}`] }, { token });
    }
    for (const group of ['merchant_manager', 'merchant_dev', 'org_supervisor', 'org_operator']) {
      await create({ groups: [`${merchantId}_${group}`] }, { token });
    }
  });
});
