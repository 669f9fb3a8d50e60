// The audit: each change is recorded in the same commit, and changes to the records are detectable.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  type AuditCheckpoint,
  type AuditKey,
  type AuditRecord,
  verifyChain,
} from '@switchyard/contract';
import { platformAuthor } from '../../src/audit/index.ts';
import { type Database, systemClock, systemIdGenerator } from '../../src/platform/index.ts';
import { createProvisioning } from '../../src/provisioning/index.ts';
import {
  merchantBody,
  openProvisioning,
  type TestProvisioning,
} from '../support/provisioning/test-provisioning.ts';

const exported = 10_000;

describe('the audit', () => {
  let setup: TestProvisioning;
  let database: Database;
  before(async () => {
    setup = await openProvisioning();
    ({ database } = setup);
  });
  after(() => setup.close());

  async function sendRequest(token: string, path: string) {
    const answer = await setup.app.inject({
      url: `/audit/v1${path}`,
      headers: { authorization: `Bearer ${token}` },
    });
    return { status: answer.statusCode, text: answer.body, headers: answer.headers };
  }

  async function readBody<Of>(token: string, path: string): Promise<Of> {
    const { status, text } = await sendRequest(token, path);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  }

  const recordsOf = async (query: string, token = 'org') =>
    (await readBody<{ items: AuditRecord[] }>(token, `/records?${query}`)).items;

  /** A separate organisation with a token and a chain of some records. */
  async function chainOf(count: number) {
    const organizationId = randomUUID();
    const token = randomUUID();
    setup.addCaller(token, { organizationId, entityId: organizationId });
    const add = (more: number) =>
      database.transaction((trx) =>
        setup.audit.recordAll(
          trx,
          Array.from({ length: more }, () => ({
            ...platformAuthor,
            organizationId,
            action: 'store.updated',
            entity: { type: 'store', id: randomUUID() },
            before: { name: 'Old' },
            after: { name: 'New', amount: 1.5, labels: { b: 'x', a: 'é' } },
          })),
        ),
      );
    await add(count);
    return { organizationId, token, add };
  }

  async function verified(token: string) {
    const { text } = await sendRequest(token, '/export');
    const records = text.split('\n').filter(Boolean);
    const { items } = await readBody<{ items: AuditCheckpoint[] }>(token, '/checkpoints');
    const { keys } = await readBody<{ keys: AuditKey[] }>(token, '/keys');
    return verifyChain(
      records.map((line) => JSON.parse(line) as AuditRecord),
      items,
      keys,
    );
  }

  const codesOf = async (token: string) => (await verified(token)).faults.map(({ code }) => code);

  // Spec: PROV-63
  test('a record names the caller, the values before and after, and the request', async () => {
    const made = await setup.call('org', 'POST', '/merchants', { body: merchantBody('Before') });
    const { merchantId } = made.body as { merchantId: string };
    const path = `/merchants/${merchantId}`;
    const body = merchantBody('After');
    const changed = await setup.call('org', 'PUT', path, { body });
    await setup.call('org', 'DELETE', path);
    const records = await recordsOf(`entityId=${merchantId}&order=OldestFirst`);
    assert.deepEqual(
      records.map(({ action }) => action),
      ['merchant.created', 'merchant.updated', 'merchant.removed'],
    );
    const [first, second, third] = records;
    assert.deepEqual(first?.after, made.body);
    assert.equal(first?.before, undefined);
    assert.deepEqual([second?.before, second?.after], [made.body, changed.body]);
    assert.deepEqual([third?.before, third?.after], [changed.body, undefined]);
    assert.deepEqual(second?.actor, { subject: 'org', clientId: 'org', kind: 'Application' });
    assert.deepEqual(second?.entity, { type: 'merchant', id: merchantId, merchantId });
    assert.equal(second?.requestId, changed.headers['x-request-id']);
    assert.deepEqual(await recordsOf(`requestId=${changed.headers['x-request-id']}`), [second]);
    assert.deepEqual(await readBody('org', `/records/${second?.sequence}`), second);
  });

  test('a record names the user of the request, and linked hardware', async () => {
    setup.addCaller('ann', { subject: 'ann-id', clientId: 'portal', userId: 'ann-id' });
    const { storeId } = await setup.createMerchant('linked');
    const logicalDevice = await setup.made('ann', '/logical-devices', { storeId, name: 'Till' });
    const path = `/logical-devices/${logicalDevice['logicalDeviceId']}/physical-devices`;
    await setup.call('ann', 'PUT', path, { body: { physicalDeviceIds: [] } });
    const [linked] = await recordsOf('actor=ann-id&action=logicalDevice.linked');
    assert.deepEqual(linked?.actor, { subject: 'ann-id', clientId: 'portal', kind: 'User' });
    assert.deepEqual(linked?.after?.['physicalDeviceIds'], []);
  });

  test('a refused request leaves no record', async () => {
    const { merchantId } = await setup.made('org', '/merchants', merchantBody('Kept'));
    await setup.made('org', '/stores', { merchantId, name: 'Holds it' });
    const refused = await setup.call('org', 'DELETE', `/merchants/${merchantId}`);
    assert.equal(refused.status, 409);
    const records = await recordsOf(`entityType=merchant&entityId=${merchantId}`);
    assert.deepEqual(
      records.map(({ action }) => action),
      ['merchant.created'],
    );
  });

  test('if the record cannot be written, nothing is changed', async () => {
    const { organizationId } = setup;
    const unrecorded = createProvisioning({
      database,
      clock: systemClock,
      ids: systemIdGenerator,
      audit: {
        record: () => Promise.reject(new Error('no room for records')),
        recordAll: () => Promise.reject(new Error('no room for records')),
      },
    });
    const id = randomUUID();
    const making = unrecorded.merchants.create({ organizationId }, merchantBody('Lost'), id);
    await assert.rejects(making, /no room/);
    assert.equal((await setup.call('org', 'GET', `/merchants/${id}`)).status, 404);
  });

  test('filters of any text are refused or find nothing', async () => {
    for (const text of ['%00', '%ED%A0%80', "'%20OR%201=1", '%25', '\u{1F600}', 'a'.repeat(128)]) {
      for (const member of ['actor', 'action', 'entityType', 'entityId', 'requestId']) {
        const { status, text: body } = await sendRequest('org', `/records?${member}=${text}`);
        assert.ok(status === 422 || status === 400 || body.includes('"items":[]'), body);
      }
    }
  });

  // Spec: PROV-69
  test('concurrent writers build one chain, and it verifies with its checkpoints', async () => {
    const { token, organizationId, add } = await chainOf(1);
    await Promise.all(Array.from({ length: 20 }, () => add(2)));
    await setup.audit.checkpoint(organizationId);
    await add(3);
    const report = await verified(token);
    assert.deepEqual(report.faults, []);
    assert.deepEqual([report.records, report.checkpoints, report.unsignedRecords], [44, 1, 3]);
  });

  test('a second checkpoint of the same record is not stored', async () => {
    const { token, organizationId } = await chainOf(2);
    await Promise.all([1, 2, 3].map(() => setup.audit.checkpoint(organizationId)));
    const { items } = await readBody<{ items: AuditCheckpoint[] }>(token, '/checkpoints');
    assert.deepEqual(
      items.map(({ sequence }) => sequence),
      [2],
    );
  });

  // Spec: PROV-68
  test('a changed, removed, exchanged or truncated record is detected', async () => {
    const tamperings: [string, string][] = [
      [`SET after_change = '{"name":"Other"}'`, 'record_changed'],
      [`SET actor_subject = 'somebody'`, 'record_changed'],
      ['SET sequence = sequence + 100', 'record_missing'],
    ];
    for (const [change, code] of tamperings) {
      const { token, organizationId } = await chainOf(8);
      await setup.audit.checkpoint(organizationId);
      await database.query(
        `UPDATE audit_records ${change} WHERE organization_id = $1 AND sequence = 5`,
        [organizationId],
      );
      assert.ok((await codesOf(token)).includes(code as never), change);
    }
    const exchanged = await chainOf(8);
    await database.query(
      `WITH low AS (SELECT before_change, after_change, entity_id FROM audit_records
         WHERE organization_id = $1 AND sequence = 3)
       UPDATE audit_records r SET entity_id = low.entity_id FROM low
       WHERE r.organization_id = $1 AND r.sequence = 4`,
      [exchanged.organizationId],
    );
    assert.deepEqual(await codesOf(exchanged.token), ['record_changed']);
    const cut = await chainOf(8);
    await setup.audit.checkpoint(cut.organizationId);
    await database.query('DELETE FROM audit_records WHERE organization_id = $1 AND sequence > 6', [
      cut.organizationId,
    ]);
    assert.deepEqual(await codesOf(cut.token), ['records_truncated']);
  });

  // Spec: PROV-66
  test('members with names of secrets are not stored', async () => {
    const { organizationId, token } = await chainOf(1);
    const secret = 'do-not-keep-me';
    const after = { name: 'x', clientSecret: secret, login: { password: secret, otp: secret } };
    await database.transaction((trx) =>
      setup.audit.record(trx, {
        ...platformAuthor,
        organizationId,
        action: 'application.created',
        entity: { type: 'application', id: 'till' },
        before: { private_key: secret },
        after,
      }),
    );
    const { text } = await sendRequest(token, '/export');
    assert.ok(text.includes('application.created'));
    assert.ok(!text.includes(secret), text);
    assert.deepEqual(await codesOf(token), []);
  });

  // Spec: PROV-67
  test('the audit is read with its permission, by its organisation, and of a merchant by that merchant', async () => {
    const ownMerchant = await setup.createMerchant('mine');
    const otherMerchant = await setup.createMerchant('theirs');
    assert.equal((await sendRequest('reader', '/records')).status, 403);
    const foreign = await recordsOf(`entityId=${ownMerchant.merchantId}`, 'other');
    assert.deepEqual(foreign, []);
    const [record] = await recordsOf(`entityId=${ownMerchant.merchantId}`);
    const { sequence } = record as AuditRecord;
    // The chain of the other organisation may contain this number too.
    const other = await sendRequest('other', `/records/${sequence}`);
    assert.ok(!other.text.includes(ownMerchant.merchantId), other.text);
    assert.deepEqual(await readBody(ownMerchant.token, `/records/${sequence}`), record);
    assert.equal((await sendRequest(otherMerchant.token, `/records/${sequence}`)).status, 404);
    for (const seenSequences of await recordsOf('', ownMerchant.token)) {
      assert.equal(seenSequences.entity.merchantId, ownMerchant.merchantId);
    }
    assert.ok(
      !(await sendRequest(otherMerchant.token, '/export')).text.includes(ownMerchant.merchantId),
    );
    for (const unknown of ['0', '-1', 'x', '999999999999', '1e3', '99999999999999999999']) {
      assert.equal((await sendRequest('org', `/records/${unknown}`)).status, 404, unknown);
    }
  });

  test('pages continue after the last record while records are added', async () => {
    const { token, add } = await chainOf(5);
    type Page = { items: AuditRecord[]; nextCursor: string | null };
    const one = await readBody<Page>(token, '/records?limit=2');
    await add(2);
    const two = await readBody<Page>(token, `/records?limit=2&cursor=${one.nextCursor}`);
    const sequences = [...one.items, ...two.items].map(({ sequence }) => sequence);
    assert.deepEqual(sequences, [5, 4, 3, 2]);
    const three = await readBody<Page>(token, `/records?limit=2&cursor=${two.nextCursor}`);
    assert.deepEqual([three.items.length, three.nextCursor], [1, null]);
    assert.equal((await sendRequest(token, `/records?limit=3&action=x&cursor=x`)).status, 422);
  });

  test('records are found by time, in both orders', async () => {
    let now = Date.parse('2026-03-01T12:00:00.000Z');
    const timed = await openProvisioning({ now: () => now });
    const { token, organizationId } = await chainOf(0);
    const record = () =>
      database.transaction((trx) =>
        timed.audit.record(trx, {
          ...platformAuthor,
          organizationId,
          action: 'x.done',
          entity: { type: 'x', id: '1' },
        }),
      );
    for (const seconds of [0, 10, 5, 20]) {
      now = Date.parse('2026-03-01T12:00:00.000Z') + seconds * 1000;
      await record();
    }
    await timed.close();
    // A slow clock does not move the time of the chain back.
    const all = await recordsOf('order=OldestFirst', token);
    assert.deepEqual(
      all.map(({ at }) => at.slice(17, 19)),
      ['00', '10', '10', '20'],
    );
    const span = 'from=2026-03-01T12:00:10Z&to=2026-03-01T13:00:20%2B01:00';
    const recordsInSpan = await recordsOf(span, token);
    assert.deepEqual(
      recordsInSpan.map(({ sequence }) => sequence),
      [3, 2],
    );
    assert.deepEqual(await recordsOf('from=2027-01-01T00:00:00Z', token), []);
    assert.deepEqual(await recordsOf('to=0000-01-01T00:00:00Z', token), []);
    assert.equal((await sendRequest(token, '/records?from=yesterday')).status, 422);
  });

  test('an export streams ten thousand records page by page, and continues after any of them', async () => {
    const { token } = await chainOf(exported);
    const answer = await setup.app.inject({
      url: '/audit/v1/export',
      headers: { authorization: `Bearer ${token}`, accept: 'application/jsonl' },
      payloadAsStream: true,
    });
    assert.equal(answer.headers['content-type'], 'application/jsonl');
    let rest = '';
    let lines = 0;
    let longest = 0;
    for await (const part of answer.stream()) {
      longest = Math.max(longest, part.length);
      const pieces = (rest + part).split('\n');
      rest = pieces.pop() ?? '';
      for (const line of pieces) {
        lines += 1;
        assert.equal((JSON.parse(line) as AuditRecord).sequence, lines);
      }
    }
    assert.deepEqual([rest, lines], ['', exported]);
    assert.ok(longest < 1_000_000, `${longest} characters at once`);
    const tail = await sendRequest(token, `/export?after=${exported - 2}`);
    assert.equal(tail.text.split('\n').filter(Boolean).length, 2);
    assert.equal((await sendRequest(token, `/export?after=${exported}`)).text, '');
  });

  test('the keys of the checkpoints are public', async () => {
    const answer = await setup.app.inject({ url: '/audit/v1/keys' });
    const { keys } = answer.json<{ keys: Record<string, unknown>[] }>();
    assert.ok(keys.length > 0);
    for (const key of keys) {
      assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    }
  });
});
