// Whole run: much is made, or waited for, before it shows.
// Audit records with a public event type are published with names and without values.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { eventDefinitions, publishedActions } from '@switchyard/contract';
import { Check } from 'typebox/value';
import { type AuditEntry, auditEvents, platformAuthor } from '../../src/audit/index.ts';
import {
  createLog,
  createMetrics,
  createOutbox,
  migrate,
  openDatabase,
  systemClock,
  systemIdGenerator,
} from '../../src/platform/index.ts';
import { createEventPublisher } from '../../src/webhooks/feed/publish-events.ts';
import { migrationsFolder, testDatabaseCopyUrl } from '../support/database/test-database.ts';
import { testAudit } from '../support/test-audit.ts';
import { eventually } from '../support/wait-for-condition.ts';

const log = createLog({ logLevel: 'silent', instanceName: 'test' });
const foreignName = 'Nobody else’s name';

async function setUp() {
  const database = openDatabase({ url: await testDatabaseCopyUrl(), log });
  await migrate(database, migrationsFolder, { log, clock: systemClock, ids: systemIdGenerator });
  const outbox = createOutbox({ database, log, metrics: createMetrics(), pollMs: 10 });
  outbox.subscribe(
    createEventPublisher({
      eventMappers: [auditEvents],
      log,
      metrics: createMetrics(),
      postponeUnknownEvents: () => Promise.reject(new Error('every kind is known here')),
      notifyReaders: () => {},
    }),
  );
  const audit = testAudit(database, systemClock);
  return {
    database,
    record: (entries: readonly AuditEntry[]) =>
      database.transaction((trx) => audit.recordAll(trx, entries)),
    async published(organizationId: string) {
      outbox.start();
      await eventually('everything is published', async () => {
        const [row] = await database.query<{ n: number }>('SELECT count(*)::int AS n FROM outbox');
        return row?.n === 0;
      });
      const rows = await database.query<{ type: string; subject_id: string; body: string }>(
        'SELECT * FROM feed_events WHERE organization_id = $1 ORDER BY sequence',
        [organizationId],
      );
      return rows.map(({ type, subject_id: subjectId, body }) => ({
        type,
        subjectId,
        body,
        data: JSON.parse(body).data,
      }));
    },
    async close() {
      await outbox.stop();
      await database.close();
    },
  };
}

const entryOf = (organizationId: string, facts: Partial<AuditEntry>): AuditEntry => ({
  ...platformAuthor,
  organizationId,
  action: 'merchant.updated',
  entity: { type: 'merchant', id: randomUUID() },
  ...facts,
});

describe('audit events', () => {
  // Spec: QRPROV-29
  test('each published action has its event type, and matches its schema', async () => {
    const { record, published, close } = await setUp();
    const organizationId = randomUUID();
    const actions = [...publishedActions.keys()];
    const entities = actions.map((action) => ({
      type: action.split('.')[0] ?? '',
      id: randomUUID(),
    }));
    await record(
      actions.map((action, index) =>
        entryOf(organizationId, { action, entity: entities[index] ?? { type: '', id: '' } }),
      ),
    );
    const events = await published(organizationId);
    assert.deepEqual(
      events.map(({ type }) => type),
      [...publishedActions.values()],
    );
    for (const [index, { type, subjectId, data }] of events.entries()) {
      const definition = eventDefinitions.get(type);
      assert.ok(definition !== undefined && Check(definition.data, { ...data }), type);
      assert.deepEqual([data.entity, subjectId], [entities[index], entities[index]?.id]);
      assert.equal(data.sequence, index + 1);
    }
    await close();
  });

  // Spec: QRPROV-29
  test('published audit events name the changed members without old or new values', async () => {
    const { record, published, close } = await setUp();
    const organizationId = randomUUID();
    await record([
      entryOf(organizationId, {
        before: { name: 'Old', password: 'p-before', status: 'Enabled', labels: { a: 1 }, gone: 1 },
        after: {
          name: foreignName,
          password: 'p-after',
          status: 'Enabled',
          labels: { a: 2 },
          came: 'x',
        },
        requestId: 'req-7',
      }),
    ]);
    const [event] = await published(organizationId);
    assert.deepEqual(event?.data.changed, ['came', 'gone', 'labels', 'name']);
    assert.equal(event?.data.requestId, 'req-7');
    for (const value of [foreignName, 'Old', 'p-before', 'p-after']) {
      assert.ok(!event?.body.includes(value), value);
    }
    await close();
  });

  test('records of keys and vaults and rolled back records are not published', async () => {
    const { database, record, published, close } = await setUp();
    const organizationId = randomUUID();
    await record([
      entryOf(organizationId, { action: 'vault.keyReplaced' }),
      entryOf(organizationId, { action: 'userDomain.keysReplaced' }),
    ]);
    const undone = testAudit(database, systemClock);
    await assert.rejects(
      database.transaction(async (trx) => {
        await undone.record(trx, entryOf(organizationId, {}));
        throw new Error('thought better of it');
      }),
    );
    await record([entryOf(organizationId, { action: 'store.created' })]);
    const events = await published(organizationId);
    assert.deepEqual(
      events.map(({ type, data }) => [type, data.sequence]),
      [['store.created', 3]],
    );
    await close();
  });

  test('records of a merchant’s entities and of the merchant itself carry its merchant id', async () => {
    const { database, record, published, close } = await setUp();
    const [organizationId, merchantId] = [randomUUID(), randomUUID()];
    await record([
      entryOf(organizationId, { entity: { type: 'merchant', id: merchantId } }),
      entryOf(organizationId, {
        action: 'store.updated',
        entity: { type: 'store', id: randomUUID(), merchantId },
      }),
      entryOf(organizationId, {
        action: 'user.created',
        entity: { type: 'user', id: randomUUID() },
      }),
    ]);
    await published(organizationId);
    const rows = await database.query<{ merchant_id: string | null }>(
      'SELECT merchant_id FROM feed_events ORDER BY sequence',
    );
    assert.deepEqual(
      rows.map((row) => row.merchant_id),
      [merchantId, merchantId, null],
    );
    await close();
  });
});
