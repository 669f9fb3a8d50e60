// A failure after a commit keeps the idempotency key: a repeated request does nothing a second
// time.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import Fastify, { type RouteHandlerMethod } from 'fastify';
import type { AuditRecorder } from '../../src/audit/index.ts';
import {
  createErrorHandler,
  createProblemSender,
} from '../../src/http/responses/problem-responses.ts';
import { withIdempotency } from '../../src/http/routes/idempotency-key.ts';
import type { RouteDeclaration } from '../../src/http/routes/route-declaration.ts';
import { callerWith } from '../../src/http/server/sample-server.fixture.ts';
import { createKeyStore } from '../../src/idempotency/idempotency-keys-sql.ts';
import { createIdempotencyKeys } from '../../src/idempotency/index.ts';
import { systemClock, systemIdGenerator } from '../../src/platform/index.ts';
import { createSubOrganizations } from '../../src/provisioning/organizations/organizations.ts';
import { createReconciliationStore } from '../../src/reporting/reconciliation/reconciliation-sql.ts';
import { createReconciliations } from '../../src/reporting/reconciliation/reconciliations.ts';
import { createDeliveryOperations } from '../../src/webhooks/delivery/manage-deliveries.ts';
import { dueClockOf } from '../support/movable-clock.ts';
import { startTestWebhooks, type TestWebhooks } from '../webhooks/test-webhooks.ts';

/** The error of a missing database connection. */
async function lost(): Promise<never> {
  throw new ProblemError('database_unavailable', 'The database is unavailable.', {
    outcome: 'NotProcessed',
  });
}

const facts = { operationId: 'make' } as RouteDeclaration;

// Spec: IDEM-11
describe('requests with a key after a lost commit', () => {
  let webhooks: TestWebhooks;
  before(async () => {
    webhooks = await startTestWebhooks();
  });
  after(() => webhooks.stop());

  /**
   * Sends two requests with one key: the first has an unknown outcome, the second was interrupted.
   */
  async function assertTaken(handler: RouteHandlerMethod): Promise<void> {
    const store = createKeyStore(webhooks.database);
    const masterKey = Buffer.alloc(32, 7);
    const keys = createIdempotencyKeys({
      store,
      clock: systemClock,
      ids: systemIdGenerator,
      masterKey,
    });
    const app = Fastify();
    app.decorateRequest('caller', undefined);
    app.addHook('onRequest', async (request) => {
      request.caller = { ...callerWith(), organizationId: webhooks.organizationId };
    });
    app.setErrorHandler(createErrorHandler(createProblemSender('https://switchyard.example')));
    app.post('/', { config: { facts } }, withIdempotency(facts, handler, keys));
    const headers = { 'idempotency-key': randomUUID() };
    const received = [];
    for (let time = 0; time < 2; time += 1) {
      const { code, outcome } = (await app.inject({ method: 'POST', url: '/', headers })).json();
      received.push([code, outcome]);
    }
    await app.close();
    assert.deepEqual(received, [
      ['database_unavailable', 'Unknown'],
      ['request_interrupted', 'Unknown'],
    ]);
  }

  const logOf = (sendNow: () => Promise<void>) =>
    createDeliveryOperations({
      database: webhooks.database,
      clock: systemClock,
      dueClock: dueClockOf(systemClock),
      ids: systemIdGenerator,
      sendNow,
    });

  test('a repeated test event is sent once', async () => {
    const { endpointId } = await webhooks.endpoint(`https://receiver.example/${randomUUID()}`);
    await assertTaken(async () => logOf(lost).test(webhooks, endpointId));
    assert.deepEqual(await webhooks.counts(endpointId), { Pending: 1 });
  });

  test('a repeated resend is sent once', async () => {
    const { endpointId } = await webhooks.endpoint(`https://receiver.example/${randomUUID()}`);
    const { deliveryId } = await logOf(async () => {}).test(webhooks, endpointId);
    await webhooks.database.query(
      `UPDATE webhook_deliveries SET status = 'Failed' WHERE delivery_id = $1`,
      [deliveryId],
    );
    await assertTaken(async () => logOf(lost).resend(webhooks, deliveryId));
    assert.deepEqual(await webhooks.counts(endpointId), { Pending: 1 });
  });

  test('a repeated reconciliation is created once', async () => {
    const { database, organizationId } = webhooks;
    const all = createReconciliations({
      database,
      clock: systemClock,
      ids: systemIdGenerator,
      audit: { record: async () => {} } as unknown as AuditRecorder,
      jobs: { enqueue: async () => {}, wake() {} },
      store: { ...createReconciliationStore(database), find: lost },
      requireLink: async () => {},
    });
    const [day, head] = ['2026-03-01', 'type,acquirerMerchantId,retrievalReferenceNumber,amount'];
    const file = `${head},currency,settlementDate\nCapture,M1,606012000017,1250,EUR,${day}\n`;
    const reportBody = { acquirerLinkId: randomUUID(), from: day, to: day };
    const caller = { ...callerWith(), organizationId };
    await assertTaken(async () =>
      all.createReconciliation(
        caller,
        randomUUID(),
        reportBody,
        Readable.from([Buffer.from(file)]),
      ),
    );
    const made = await database.query('SELECT state FROM reconciliations');
    assert.deepEqual(made, [{ state: 'Matching' }]);
  });

  test('a repeated organisation is created once', async () => {
    let made = 0;
    const create = async () => {
      made += 1;
      return { view: { organizationId: randomUUID() }, version: 1 };
    };
    type Made = Parameters<typeof createSubOrganizations>;
    const below = createSubOrganizations(
      { create } as unknown as Made[0],
      { invalidate: lost } as unknown as Made[1],
    );
    const scope = { organizationId: webhooks.organizationId } as Parameters<typeof below.create>[0];
    await assertTaken(async () => below.create(scope, { name: 'Once' }));
    assert.equal(made, 1);
  });
});
