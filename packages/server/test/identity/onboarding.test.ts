// Chapter "Onboarding" over TLS: sign-up, approval by the operator, activation by the mailed link.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { bucketSql } from '../../src/platform/index.ts';
import { assertProblem } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import type { HttpResponse, RequestOptions } from '../support/https-client.ts';
import { createTestUser, otpCodeAt } from '../support/identity/test-users.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { until } from '../support/wait-for-result.ts';

const base = '/onboarding/v1';
const password = 'nine tills under one long roof';

describe('onboarding', () => {
  let setup: TestOrganization;
  let operator: string;
  before(async () => {
    setup = await createTestOrganization();
    operator = await setup.tokenFor({
      name: 'operator',
      entityType: 'tenant',
      entityId: setup.organizationId,
      roles: ['PlatformOperator'],
    });
  });

  const call = (method: string, path: string, options: RequestOptions = {}) =>
    setup.client.call(method, `${base}${path}`, options);

  const inputOf = (members: object = {}) => ({
    organizationName: `Crédit ${randomUUID()}`,
    persona: 'Acquirer',
    email: `ann-${randomUUID()}@bank.example`,
    givenName: 'Ann',
    familyName: 'Carter',
    country: 'FR',
    ...members,
  });

  async function signUp(members: object = {}): Promise<HttpResponse['body']> {
    const input = inputOf(members);
    const answer = await call('POST', '/sign-ups', { body: input });
    assert.equal(answer.status, 202, answer.text);
    assert.deepEqual(answer.body, { status: 'Received' });
    const database = await testDatabase();
    const [row] = await database.query<{ id: string }>(
      'SELECT organization_id AS id FROM sign_ups WHERE email = $1 ORDER BY 1 DESC LIMIT 1',
      [input.email],
    );
    assert.ok(row !== undefined);
    return { ...input, signUpId: row.id };
  }

  const approve = (signUpId: string) =>
    call('POST', `/sign-ups/${signUpId}/approve`, { token: operator });
  const read = async (signUpId: string) =>
    (await call('GET', `/sign-ups/${signUpId}`, { token: operator })).body;

  /** Waits for a mail to the address, by default a mail with a link. */
  function mailTo(address: string, holds = /\/links\//): Promise<string> {
    const directory = join(setup.settings.dataDir, 'mail');
    return until(async () => {
      const names = (await readdir(directory)).filter((name) => name.endsWith('.eml'));
      const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
      const mails = texts.filter((text) => text.includes(`To: ${address}`));
      return mails.find((text) => holds.test(text.replaceAll(/=\r?\n/g, '')));
    }, `mail to ${address}`);
  }

  const linkIn = (mail: string) =>
    /\/links\/([\w-]{43})/.exec(mail.replaceAll(/=\r?\n/g, ''))?.[1] ?? '';

  // Spec: SVC-38 SVC-40 LIST-14 ONB-4 ONB-15
  test('a sign-up leads from the form to the first administrator, with a second factor', async () => {
    const { signUpId, email, ...facts } = await signUp({ language: 'fr' });
    const waiting = await read(signUpId);
    assert.deepEqual(
      [waiting.status, waiting.organizationName],
      ['Pending', facts.organizationName],
    );
    assert.equal((await approve(signUpId)).body.status, 'Approving');
    const mail = await mailTo(email);
    assert.match(mail, /Content-Language: fr/i);
    const token = linkIn(mail);
    const shortPassword = await call('POST', `/activations/${token}`, {
      body: { password: 'short' },
    });
    assertProblem(shortPassword, { code: 'field_invalid', pointer: '/password' });
    const { status, body } = await call('POST', `/activations/${token}`, { body: { password } });
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual([body.organizationId, body.username], [signUpId, email]);
    assert.match(body.userDomainId, /^credit-[a-z0-9-]+$/);
    const wrong = await call('POST', `/activations/${token}/otp`, { body: { code: '000000' } });
    assertProblem(wrong, { code: 'field_invalid', pointer: '/code' });
    const code = otpCodeAt(body.oneTimePassword.secret, Date.now());
    const confirmed = await call('POST', `/activations/${token}/otp`, { body: { code } });
    assert.equal(confirmed.body.recoveryCodes.length, 10, confirmed.text);
    const again = await call('POST', `/activations/${token}`, { body: { password } });
    assertProblem(again, { code: 'resource_not_found' });
    const twice = await call('POST', `/activations/${token}/otp`, { body: { code } });
    assertProblem(twice, { code: 'resource_not_found' });
    const user = await setup.platform.identity.accounts.find(body.organizationId, body.userId);
    assert.deepEqual(user?.groups, [`${body.organizationId}_org_admin`]);
    assert.deepEqual([user?.secondFactor, user?.emailVerified], ['On', true]);
    const records = await (await testDatabase()).query<{ action: string }>(
      'SELECT action FROM audit_records WHERE organization_id = $1 ORDER BY sequence',
      [body.organizationId],
    );
    const actions = records.map(({ action }) => action);
    assert.deepEqual(actions.slice(-2), ['userDomain.created', 'user.created']);
    const done = await until(async () => {
      const now = await read(signUpId);
      return now.status === 'Approved' ? now : undefined;
    }, 'the approval');
    assert.deepEqual(
      [done.organizationId, done.userDomainId],
      [body.organizationId, body.userDomainId],
    );
  });

  test('concurrent approvals create one organisation, and a second sign-up with the same name gets its own domain', async () => {
    const organizationName = `Twin ${randomUUID().slice(0, 8)}`;
    const first = await signUp({ organizationName });
    const second = await signUp({ organizationName });
    await Promise.all([first, first, second].map(({ signUpId }) => approve(signUpId)));
    await Promise.all([mailTo(first.email), mailTo(second.email)]);
    const domains = await Promise.all(
      [first, second].map(({ signUpId }) =>
        until(async () => (await read(signUpId)).userDomainId, 'the user domain'),
      ),
    );
    assert.equal(new Set(domains).size, 2);
    const database = await testDatabase();
    const users = await database.query('SELECT 1 FROM users WHERE organization_id = $1', [
      first.signUpId,
    ]);
    assert.equal(users.length, 1);
    const rejected = await call('POST', `/sign-ups/${first.signUpId}/reject`, { token: operator });
    assertProblem(rejected, { code: 'concurrent_modification' });
  });

  test('an interrupted approval that runs again creates nothing twice', async () => {
    const { signUpId, email } = await signUp();
    await approve(signUpId);
    const isApproved = async () => (await read(signUpId)).status === 'Approved' || undefined;
    await until(isApproved, 'the approval');
    const { userDomainId } = await read(signUpId);
    const database = await testDatabase();
    await database.query(
      `UPDATE sign_ups SET status = 'Approving', user_domain_id = NULL WHERE organization_id = $1`,
      [signUpId],
    );
    await database.query(
      `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, created_at)
       VALUES (${bucketSql('$2::uuid')}, $1, $2, 'onboarding.approve', '{}', now(), now())`,
      [signUpId, randomUUID()],
    );
    await until(isApproved, 'the same approval');
    assert.equal((await read(signUpId)).userDomainId, userDomainId);
    const users = await database.query<{ email: string }>(
      'SELECT email FROM users WHERE organization_id = $1',
      [signUpId],
    );
    assert.deepEqual(users, [{ email }]);
    const links = await database.query('SELECT 1 FROM user_links WHERE organization_id = $1', [
      signUpId,
    ]);
    assert.equal(links.length, 1);
  });

  // Spec: ONB-4
  test('a rejected sign-up gets a mail, and no organisation is created', async () => {
    const { signUpId, email } = await signUp();
    const answer = await call('POST', `/sign-ups/${signUpId}/reject`, { token: operator });
    assert.deepEqual([answer.status, answer.body.status], [202, 'Rejected']);
    const note = await mailTo(email, /Thank you for your interest/);
    assert.match(note, /Content-Type: text\/plain[\s\S]*Content-Type: text\/html/i);
    assertProblem(await approve(signUpId), { code: 'concurrent_modification' });
    assert.equal(await setup.platform.identity.userDomains.findByOrganization(signUpId), undefined);
  });

  // Spec: ONB-4
  test('only the operator of the platform sees sign-ups', async () => {
    const { signUpId } = await signUp();
    const elsewhere = await createTestOrganization();
    const { user } = await createTestUser(
      {
        identity: elsewhere.platform.identity,
        organizationId: elsewhere.organizationId,
        userDomainId: elsewhere.realm,
      },
      { password },
    );
    const { clientId } = await elsewhere.platform.identity.createPublicApplication({
      organizationId: elsewhere.organizationId,
      userDomainId: elsewhere.realm,
      name: 'Device',
      entityType: 'tenant',
      entityId: elsewhere.organizationId,
      roles: [],
      securityFlows: ['Password'],
    });
    const form = { grant_type: 'password', client_id: clientId, username: user.username, password };
    const { body } = await setup.client.call('POST', `/oauth2/v1/${elsewhere.realm}/token`, {
      raw: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    const token = String(body.access_token);
    assert.deepEqual((await call('GET', '/sign-ups', { token })).body, {
      items: [],
      nextCursor: null,
    });
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/approve'],
      ['POST', '/reject'],
    ] as const) {
      const answer = await call(method, `/sign-ups/${signUpId}${path}`, { token });
      assertProblem(answer, { code: 'resource_not_found' }, path);
      const unknown = await call(method, `/sign-ups/nobody${path}`, { token: operator });
      assertProblem(unknown, { code: 'resource_not_found' }, path);
    }
    const acquirer = await call('GET', '/sign-ups', { token: elsewhere.acquirerToken });
    assertProblem(acquirer, { code: 'permission_denied' });
    assert.equal((await read(signUpId)).status, 'Pending');
  });

  // Spec: ONB-15
  test('the server refuses an expired link, an unknown link and an invalid form', async () => {
    const { signUpId, email } = await signUp();
    await approve(signUpId);
    const token = linkIn(await mailTo(email));
    const database = await testDatabase();
    await database.query(
      'UPDATE user_links SET expires_at = created_at WHERE organization_id = $1',
      [signUpId],
    );
    for (const link of [token, 'x', 'A'.repeat(43)]) {
      const answer = await call('POST', `/activations/${link}`, { body: { password } });
      assertProblem(answer, { code: 'resource_not_found' }, link);
    }
    for (const members of [
      { persona: 'King' },
      { email: 'ann' },
      { country: 'France' },
      { organizationName: ' ' },
      { isAdmin: true },
    ]) {
      const answer = await call('POST', '/sign-ups', { body: inputOf(members) });
      assertProblem(answer, {
        code: 'isAdmin' in members ? 'field_unknown' : 'field_invalid',
        pointer: `/${Object.keys(members)[0]}`,
      });
    }
  });

  // Spec: ONB-14
  test('the applicant gets a confirmation mail at once, in the language of the form, as text and HTML', async () => {
    const { email } = await signUp({ language: 'fr-BE' });
    const mail = await mailTo(email, /Merci d=E2=80=99avoir inscrit/);
    assert.match(mail, /Content-Language: fr/i);
    assert.match(mail, /Content-Type: text\/plain[\s\S]*Content-Type: text\/html/i);
    assert.doesNotMatch(mail, /https?:\/\//, 'nothing to follow before it is approved');
  });

  // Spec: ONB-13
  test('one address has at most three open sign-ups, and the response does not reveal it', async () => {
    const email = `often-${randomUUID()}@bank.example`;
    for (let tries = 0; tries < 5; tries += 1) await signUp({ email });
    const database = await testDatabase();
    const rows = await database.query('SELECT 1 FROM sign_ups WHERE email = $1', [email]);
    assert.equal(rows.length, 3);
    // A decision, a plus suffix, letter case and concurrent requests do not raise the limit within
    // a day.
    await database.query(`UPDATE sign_ups SET status = 'Rejected' WHERE email = $1`, [email]);
    const suffixed = email.toUpperCase().replace('@', '+x@');
    const send = (address: string) =>
      call('POST', '/sign-ups', { body: inputOf({ email: address }) });
    await Promise.all([send(email), send(suffixed)]);
    const all = `SELECT 1 FROM sign_ups WHERE replace(lower(email), '+x@', '@') = $1`;
    assert.equal((await database.query(all, [email])).length, 3);
    const other = `at-once-${randomUUID()}@bank.example`;
    await Promise.all(Array.from({ length: 5 }, () => send(other)));
    assert.equal((await database.query(all, [other])).length, 3);
  });

  // Spec: ONB-13
  test('a name that contains a link is refused, and the mail shows no name as a link', async () => {
    for (const givenName of ['Click http://evil.example', 'evil.example', 'x'.repeat(61)]) {
      const refused = await call('POST', '/sign-ups', { body: inputOf({ givenName }) });
      assert.equal(refused.status, 422, refused.text);
      assert.equal(refused.body.errors[0].pointer, '/givenName');
    }
    const organizationName = 'Click http://evil.example';
    const { email } = await signUp({ organizationName });
    const mail = await mailTo(email, /Click http evil example/);
    assert.doesNotMatch(mail, /http:|evil\.example/);
  });
});
