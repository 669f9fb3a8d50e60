// The thirteen rules of an acquirer link to an ISO 8583 host, one test for each.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import tls, { createServer as createTlsServer } from 'node:tls';
import { builtInHosts, compileHost, type HostTable, type Message } from '@switchyard/iso8583';
import { startAcquirerHost } from '@switchyard/simulators';
import type { AcquirerRequest, LateResponse } from '../../src/acquiring/index.ts';
import { connectIso8583Host } from '../../src/acquiring/iso8583-host/connect-iso8583-host.ts';
import {
  defaultReconnectDelaysMs,
  openHostLink,
} from '../../src/acquiring/iso8583-host/host-session-pool.ts';
import {
  bucketSql,
  createAddressGuard,
  createLog,
  ensureListenerCertificate,
  systemClock,
} from '../../src/platform/index.ts';
import { assertAgreement } from '../payments/ledger/ledger-invariants.ts';
import { startAcquirerRelay } from '../support/acquirers/acquirer-relay.ts';
import {
  approvalResponse,
  approve,
  approveNetworkMessages,
  encodeMessageFrame,
  type ReceivedMessage,
  startScriptedHost,
} from '../support/acquirers/scripted-host.ts';
import { assertProblem } from '../support/assert-problem-response.ts';
import { testDatabase } from '../support/database/test-database.ts';
import { keyedSale } from '../support/keyed-sale.ts';
import {
  call,
  createOrganizationBehindRelay,
  type OrganizationBehindRelay,
  waitForState,
} from '../support/payment-calls.ts';
import { createTestOrganization, type TestOrganization } from '../support/test-organization.ts';
import { testPlatform } from '../support/test-platform.ts';
import { eventually } from '../support/wait-for-condition.ts';
import { until } from '../support/wait-for-result.ts';

const addressGuard = createAddressGuard({ allowsLoopback: true });

/** The host does not answer the first two reversals of this card. */
const silentCard = '4000000000004202';
const now = () => systemClock.now();
const spoken = compileHost(builtInHosts['iso1987-binary'], { now });
const silent = createLog({ logLevel: 'silent', instanceName: 'test' });

function sale(stan: string, members: Partial<AcquirerRequest> = {}): AcquirerRequest {
  return {
    kind: 'Sale',
    repeat: false,
    organizationId: 'organization',
    transactionId: 'transaction',
    linkId: 'link',
    reference: {
      mti: '0200',
      terminalId: 'TERM0001',
      stan,
      rrn: `500112${stan}`,
      transmittedAt: '0101120000',
      localTime: '120000',
      localDate: '0101',
    },
    merchantNumber: 'M00000000000001',
    mcc: '5411',
    amount: 1234,
    currency: 'EUR',
    entryMode: 'Keyed',
    card: { pan: '4111111111111111', expiry: '3012' },
    ...members,
  };
}

type LinkTo = {
  port: number;
  table?: HostTable;
  log?: typeof silent;
  timeoutMs?: number;
  [setting: string]: unknown;
};

/** A timeout for tests without lost responses, longer than any pause of the machine. */
const patientMs = 20_000;

/** An adapter that is signed on, and closes with the test. */
async function createLink(t: TestContext, linkOptions: LinkTo) {
  const { port, table, log = silent, timeoutMs = patientMs, ...settings } = linkOptions;
  const late: LateResponse[] = [];
  const connection = connectIso8583Host({
    addressGuard,
    link: {
      organizationId: 'organization',
      linkId: 'link',
      name: 'north',
      adapter: 'iso8583-host',
      settings: { host: '127.0.0.1', port, institutionId: '1001', ...settings },
    },
    compiledHost: table === undefined ? spoken : compileHost(table, { now }),
    timeoutMs,
    clock: systemClock,
    log,
    onLateResponse: (each) => late.push(each),
  });
  t.after(connection.close);
  await eventually('signed on', () => connection.isAvailable());
  return { connection, late };
}

/** A scripted host; it closes first, so that no sign-off waits for a silent host. */
async function scripted(t: TestContext) {
  const host = await startScriptedHost();
  t.after(host.stop);
  return host;
}

/** The simulated acquirer with a host table. */
async function simulated(t: TestContext, table: HostTable) {
  const ledgerDir = await mkdtemp(join(tmpdir(), 'switchyard-link-'));
  const options = { host: '127.0.0.1', port: 0, ledgerDir, lateMs: 500, slowMs: 100 };
  const host = await startAcquirerHost({ ...options, dialect: table });
  t.after(async () => {
    await host.stop();
    await rm(ledgerDir, { recursive: true, force: true });
  });
  return host;
}

const card = (number: string) => ({ card: { number, expiryMonth: 12, expiryYear: 2030 } });

const sell = (setup: TestOrganization, members: Record<string, unknown> = {}) =>
  call(setup, 'POST', '/process', keyedSale(members));

const advices = ({ relay }: OrganizationBehindRelay): Message[] =>
  relay.sent.filter(({ mti }) => mti.startsWith('042'));

const originalsOf = (setup: TestOrganization) =>
  setup.host
    .ledger()
    .originals.filter(({ merchant }) => merchant === setup.merchant.merchantNumber);

describe('acquirer links', { concurrency: 4 }, () => {
  const framings: Readonly<Record<string, HostTable['framing']>> = {
    'two bytes': { length: 'binary2' },
    'two bytes that count themselves': { length: 'binary2', inclusive: true },
    'two bytes of packed digits and a TPDU': {
      length: 'bcd2',
      tpduBytes: 5,
      tpdu: '6000010000',
    },
    'four digits': { length: 'ascii4' },
    'four bytes with indicators': { length: 'vml4' },
  };
  for (const [name, framing] of Object.entries(framings)) {
    test(`1: several connections, with a header of ${name}`, async (t) => {
      const table = { ...builtInHosts['iso1987-binary'], name: 'framed', framing };
      const host = await simulated(t, table);
      const { connection } = await createLink(t, { port: host.port, table, connections: 3 });
      await eventually('all signed on', () => connection.getConnections?.().signedOn === 3);
      for (const stan of ['000001', '000002', '000003', '000004']) {
        assert.equal((await connection.send(sale(stan))).outcome, 'Approved');
      }
      assert.equal(host.ledger().originals.length, 4);
    });
  }

  // Spec: ACQ-2
  test('1: a link uses TLS, and only loopback is possible without TLS', async (t) => {
    const { settings } = await testPlatform();
    const { cert, key, caFile } = await ensureListenerCertificate({ settings, clock: systemClock });
    const host = await scripted(t);
    const server = createTlsServer({ cert, key }, (socket) => {
      const inner = connect(host.port, '127.0.0.1');
      socket.pipe(inner).pipe(socket);
      for (const each of [socket, inner]) each.on('error', () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    t.after(() => server.close());
    const trusted = tls.getCACertificates('default');
    tls.setDefaultCACertificates([...trusted, await readFile(caFile, 'utf8')]);
    t.after(() => tls.setDefaultCACertificates(trusted));
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const over = { port: address.port, host: 'localhost', tls: true };
    const { connection } = await createLink(t, over);
    assert.equal((await connection.send(sale('000001'))).outcome, 'Approved');
    await assert.rejects(createLink(t, { port: 8583, host: '192.0.2.1' }), /requires TLS/);
  });

  // Spec: ACQ-2
  test('2: the link sends only a sign-on before its response, echoes while idle, and disconnects after two missing responses', async (t) => {
    const host = await scripted(t);
    host.script(() => {});
    const link = openHostLink({
      addressGuard,
      host: '127.0.0.1',
      port: host.port,
      tls: false,
      compiledHost: spoken,
      clock: systemClock,
      log: silent,
      onUnmatchedResponse: () => {},
      reconnectDelaysMs: [10],
      echoIntervalMs: 25,
    });
    t.after(() => link.close(0));
    await eventually('a sign-on', () => host.receivedTypes().length === 1);
    const early = await link.sendRequest({ mti: '0200', fields: { 11: '000001' } }, 1000);
    assert.deepEqual(early, { result: 'NotSent', reason: 'not signed on' });
    assert.deepEqual(host.receivedTypes(), ['0800001']);
    const [first] = host.received;
    assert.ok(first);
    approve(first);
    await eventually('signed on', () => link.isAvailable());
    await eventually('two echoes, then another sign-on', () => host.connections() === 2);
    const echoes = host.receivedTypes().filter((each) => each === '0800301');
    // The link may send a third echo at the moment in which it abandons the second.
    assert.ok(echoes.length === 2 || echoes.length === 3, `${echoes.length} echoes`);
    assert.deepEqual(defaultReconnectDelaysMs, [1000, 2000, 5000, 10_000, 30_000, 60_000]);
  });

  test('3: responses are matched to requests in any order, and a STAN is used once at a time', async (t) => {
    const host = await scripted(t);
    const { connection } = await createLink(t, { port: host.port });
    const heldMessages: ReceivedMessage[] = [];
    host.script((received) => heldMessages.push(received));
    const outcomes = ['000001', '000002', '000003'].map((stan, index) =>
      connection.send(sale(stan, { amount: 1000 + index })),
    );
    await eventually('all asked', () => heldMessages.length === 3);
    const twice = await connection.send(sale('000002'));
    assert.deepEqual(twice, { outcome: 'NotSent', reason: 'duplicate trace' });
    for (const received of heldMessages.reverse()) approve(received);
    const amounts = (await Promise.all(outcomes)).map((each) => 'amount' in each && each.amount);
    assert.deepEqual(amounts, [1000, 1001, 1002]);
    host.script(approve);
  });

  test('4: the sale is stored before it is sent, and its reversal together with the timeout', async (t) => {
    const host = await scripted(t);
    const setup = await createTestOrganization({}, { acquirerPort: host.port });
    const database = await testDatabase();
    const phases: Promise<string | undefined>[] = [];
    host.script((received) => {
      if (received.message.mti === '0200') {
        const phaseQuery = database.query<{ phase: string }>(
          'SELECT phase FROM transactions WHERE organization_id = $1',
          [setup.organizationId],
        );
        phases.push(phaseQuery.then(([row]) => row?.phase));
      } else if (received.message.mti === '0800') approve(received);
    });
    const { body } = await sell(setup);
    assert.deepEqual([body.state, body.approved], ['Reversing', false]);
    assert.equal(await phases[0], 'Received');
    const [storedJob] = await database.query<{ same: boolean; queue_id: string }>(
      `SELECT e.at = o.updated_at AND j.created_at = o.updated_at AS same, j.queue_id
       FROM transaction_events e
       JOIN operations o USING (bucket, transaction_id)
       JOIN jobs j ON j.bucket = e.bucket
         AND j.payload->>'transactionId' = e.transaction_id::text
       WHERE e.organization_id = $1 AND e.type = 'transaction.reversal_queued'`,
      [setup.organizationId],
    );
    assert.deepEqual({ ...storedJob }, { same: true, queue_id: setup.linkId });
    host.script(approve);
    await waitForState(setup, body.transactionId, 'Reversed');
  });

  // Spec: ACQ-9
  test('5: advices are stored, sent in order and repeated until accepted; a stuck queue raises an alarm', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    const first = await sell(setup, { amount: 9091, instrument: card(silentCard) });
    await until(() => (advices(setup).length > 0 ? true : undefined), 'the first reversal');
    const second = await sell(setup, { amount: 9091 });
    const states = () =>
      setup.client.call('GET', '/payment/v1/acquirer-links', { token: setup.acquirerToken });
    const waiting = await until(async () => {
      const { body } = await states();
      return body.items?.[0]?.queue.length === 2 ? body.items[0] : undefined;
    }, 'two in the queue');
    assert.equal(waiting.acquirerLinkId, setup.linkId);
    assert.deepEqual([waiting.available, waiting.alarm], [true, false]);
    assert.deepEqual(waiting.connections, { wanted: 1, signedOn: 1 });
    assert.ok(Date.parse(waiting.queue.oldestAt) <= systemClock.now());
    // A job that has failed for some minutes: six attempts.
    const database = await testDatabase();
    const stuck = [setup.organizationId, randomUUID(), setup.linkId];
    await database.query(
      `INSERT INTO jobs (bucket, organization_id, job_id, kind, payload, due_at, attempts, created_at, queue_id)
       VALUES (${bucketSql('$2::uuid')}, $1, $2, 'test.stuck', '{}', now(), 6, now(), $3)`,
      stuck,
    );
    const alarmed = (await states()).body.items[0];
    assert.equal(alarmed.alarm, true);
    assert.deepEqual([alarmed.queue.alarms, alarmed.queue.attempts], [1, 6]);
    const metrics = await setup.platform.metrics.registry.metrics();
    const stuckMetric = new RegExp(
      `switchyard_acquirer_queue_stuck_messages\\{link="${setup.linkId}"\\} 1`,
    );
    assert.match(metrics, stuckMetric);
    const ofLink = `link="${setup.linkId}"`;
    assert.ok(metrics.includes(`switchyard_acquirer_queue_reversals{${ofLink}} 2\n`), metrics);
    assert.ok(metrics.includes(`switchyard_sales_total{${ofLink},outcome="Unknown"} 2\n`), metrics);
    assert.match(
      metrics,
      new RegExp(`switchyard_acquirer_queue_oldest_reversal_seconds{${ofLink}} 0?\\.?[1-9]`),
    );
    assert.match(
      metrics,
      new RegExp(`switchyard_acquirer_response_duration_seconds_count{${ofLink},kind="Sale"`),
    );
    await database.query(
      'DELETE FROM jobs WHERE organization_id = $1 AND job_id = $2 AND queue_id = $3',
      stuck,
    );
    for (const { body } of [first, second])
      await waitForState(setup, body.transactionId, 'Reversed');
    for (const line of [
      `switchyard_reversal_duration_seconds_count{${ofLink}} 2\n`,
      `switchyard_acquirer_queue_reversals{${ofLink}} 0\n`,
    ]) {
      const readMetrics = () => setup.platform.metrics.registry.metrics();
      await until(async () => (await readMetrics()).includes(line) || undefined, line);
    }
    const order = advices(setup).map(({ mti, fields }) => `${mti} ${fields[90]?.slice(4, 10)}`);
    const [one, other] = [first, second].map(({ body }) => body.systemTraceAuditNumber);
    // The second reversal waits for the first one, which has no response twice.
    assert.deepEqual(order, [`0420 ${one}`, `0421 ${one}`, `0421 ${one}`, `0420 ${other}`]);
    await until(async () => {
      const { body } = await states();
      return body.items[0].queue.length === 0 && body.items[0].alarm === false ? true : undefined;
    }, 'an empty queue');
    assertProblem(
      await setup.client.call('GET', '/payment/v1/acquirer-links', { token: setup.merchant.token }),
      { code: 'permission_denied' },
    );
    await assertAgreement(setup);
  });

  // Spec: ACQ-10
  test('6: a late approval is recorded and changes nothing; the reversal remains', async () => {
    const setup = await createTestOrganization();
    const { body } = await sell(setup, { amount: 9092 });
    assert.deepEqual([body.state, body.approved], ['Reversing', false]);
    const transaction = await until(async () => {
      const now = await call(setup, 'GET', `/${body.transactionId}`);
      const types = now.body.events.map(({ type }: { type: string }) => type);
      // The server reverses again after an approval that arrives after the reversal.
      const late = types.indexOf('transaction.late_response');
      return late >= 0 && types.lastIndexOf('transaction.reversed') > late ? now.body : undefined;
    }, 'the late answer, and the reversal behind it');
    assert.equal(transaction.approved, false);
    const reversed = await waitForState(setup, body.transactionId, 'Reversed');
    assert.deepEqual([reversed.approved, reversed.capturedAmount], [false, 0]);
    await assertAgreement(setup);
  });

  test('7: a reversal of a declined sale has no effect, and a second reversal has no second effect', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    const declined = await sell(setup, { amount: 9051 });
    assert.equal(declined.body.state, 'Declined');
    const technical = { cancelReason: 'Technical' };
    const path = `/${declined.body.transactionId}/cancel`;
    assert.equal((await call(setup, 'POST', path, technical)).status, 200);
    assert.equal(advices(setup).length, 0);
    const { body } = await sell(setup, { amount: 9091, instrument: card(silentCard) });
    await waitForState(setup, body.transactionId, 'Reversed');
    // The same advice three times; the host processed the first.
    assert.deepEqual(
      advices(setup).map(({ mti }) => mti),
      ['0420', '0421', '0421'],
    );
    const [, reversed] = originalsOf(setup);
    assert.deepEqual([reversed?.approved, reversed?.held], [9091, 0]);
    const [totals] = setup.host
      .ledger()
      .totals.filter(({ merchant }) => merchant === setup.merchant.merchantNumber);
    assert.deepEqual([totals?.reversed, totals?.reversals], [9091, 1]);
  });

  test('8: a repeated request reaches the host once, and a different request with its identifier is refused', async (t) => {
    const setup = await createOrganizationBehindRelay(t);
    const request = keyedSale();
    const first = await call(setup, 'POST', '/process', request);
    const again = await call(setup, 'POST', '/process', request);
    assert.equal(again.body.transactionId, first.body.transactionId);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    const other = await call(setup, 'POST', '/process', { ...request, amount: 99 });
    assertProblem(other, { code: 'client_id_reused' });
    assert.equal(setup.relay.sent.length, 1);
    // Trace number, terminal and date identify a message at the host, so each sale differs.
    await sell(setup);
    const names = setup.relay.sent.map(({ fields }) =>
      [fields[41], fields[11], fields[13]].join(' '),
    );
    assert.equal(new Set(names).size, 2);
  });

  test('9: the response “duplicate” is not a decline: the earlier effect at the host is reversed', async (t) => {
    const host = await scripted(t);
    const setup = await createTestOrganization({}, { acquirerPort: host.port });
    host.script((received) => {
      const { message, socket } = received;
      if (message.mti === '0200')
        socket.write(encodeMessageFrame(approvalResponse(message, { 39: '94' })));
      else approve(received);
    });
    const { body } = await sell(setup);
    assert.deepEqual([body.state, body.approved], ['Reversing', false]);
    await waitForState(setup, body.transactionId, 'Reversed');
    assert.equal(host.receivedTypes().filter((each) => each === '0420').length, 1);
  });

  test('10: an unsent request of a lost connection is sent over another one; a sent request is unknown', async (t) => {
    const host = await scripted(t);
    const link = openHostLink({
      addressGuard,
      host: '127.0.0.1',
      port: host.port,
      tls: false,
      compiledHost: spoken,
      clock: systemClock,
      log: silent,
      onUnmatchedResponse: () => {},
      reconnectDelaysMs: [60_000],
      connectionCount: 2,
      maxUnreadPaymentBytes: 65_536,
    });
    t.after(() => link.close(0));
    await eventually('both signed on', () => link.countSignedOnSessions() === 2);
    const [deaf] = host.received;
    assert.ok(deaf);
    deaf.socket.pause();
    const filler = 'x'.repeat(999);
    const received: ReturnType<typeof link.sendRequest>[] = [];
    // Sends until the system accepts no more bytes for the unread connection and the link abandons
    // it.
    for (let stan = 1; link.countSignedOnSessions() === 2 && stan < 18_000; stan += 1) {
      const fields = { 11: String(stan).padStart(6, '0'), 41: 'TERM0001', 48: filler };
      const more = { 60: filler, 61: filler, 62: filler, 63: filler };
      received.push(link.sendRequest({ mti: '0200', fields: { ...fields, ...more } }, 20_000));
      if (stan % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(link.countSignedOnSessions(), 1);
    deaf.socket.destroy();
    const results = (await Promise.all(received)).map(({ result }) => result);
    const count = (expected: (typeof results)[number]) =>
      results.filter((result) => result === expected).length;
    const answered = count('Responded');
    assert.equal(answered + count('ConnectionLost'), results.length);
    // Each connection got half of the requests; the link moved unsent requests to the other one.
    assert.ok(answered > results.length / 2, `${answered} of ${results.length}`);
    assert.ok(count('ConnectionLost') > 0);
    const heard = host.received.filter(({ message }) => message.mti === '0200');
    const traces = new Set(heard.map(({ message }) => message.fields[11]));
    assert.equal(traces.size, heard.length, 'nothing came twice');
    assert.equal(heard.length, answered);
  });

  // Spec: ACQ-10
  test('11: a response with other echo fields is ignored; a partial approval needs the contract', async (t) => {
    const host = await scripted(t);
    const { connection: patient } = await createLink(t, { port: host.port });
    const { connection: hasty } = await createLink(t, { port: host.port, timeoutMs: 1000 });
    const wrong: Record<number, string> = {
      3: '200000',
      4: '000000009999',
      42: 'M00000000000002',
      49: '840',
    };
    let stan = 0;
    const outcomeWith = (changed: Message['fields'], link = patient) => {
      stan += 1;
      host.script(({ message, socket }) =>
        socket.write(encodeMessageFrame(approvalResponse(message, changed))),
      );
      return link.send(sale(String(stan).padStart(6, '0')));
    };
    for (const [field, value] of Object.entries(wrong)) {
      const outcome = await outcomeWith({ [field]: value });
      assert.deepEqual(outcome, { outcome: 'Unknown', reason: 'InvalidResponse' }, `DE${field}`);
    }
    for (const field of [11, 41]) {
      const changed = { [field]: field === 11 ? '999999' : 'TERM0002' };
      const outcome = await outcomeWith(changed, hasty);
      assert.deepEqual(outcome, { outcome: 'Unknown', reason: 'Timeout' }, `DE${field}`);
    }
    const part = await outcomeWith({ 39: '10', 4: '000000000500' });
    assert.equal(part.outcome === 'Approved' && part.amount, 500);
    host.script(approve);
    const setup = await createTestOrganization({ partialApproval: false });
    const { body } = await sell(setup, { amount: 9010 });
    assert.deepEqual([body.state, body.approved], ['Reversing', false]);
    await waitForState(setup, body.transactionId, 'Reversed');
    await assertAgreement(setup);
  });

  test('12: one signed-on connection makes the link available; without one, offline is advised', async (t) => {
    const relay = await startAcquirerRelay((await testPlatform()).host.port);
    const setup = await createTestOrganization(
      {},
      { acquirerPort: relay.port, link: { connections: 2 } },
    );
    const available = async () => (await call(setup, 'GET', '/technical/isAvailable')).body;
    const { available: up, offlineAdvised } = await available();
    assert.deepEqual([up, offlineAdvised], [true, false]);
    await relay.close();
    const down = await until(async () => {
      const body = await available();
      return body.available === false ? body : undefined;
    }, 'the link to be down');
    assert.equal(down.offlineAdvised, true);
    assertProblem(await sell(setup), { code: 'acquirer_unavailable' });
    const state = async (query = '', token = setup.acquirerToken) =>
      setup.client.call('GET', `/payment/v1/acquirer-links/${setup.linkId}${query}`, { token });
    const { body: connecting } = await state('?waitSeconds=1');
    assert.equal(connecting.state, 'Connecting');
    assert.match(connecting.lastFault, /\w/);
    assertProblem(await state('', setup.merchant.token), { code: 'permission_denied' });
    const waiting = state('?waitSeconds=30');
    await relay.startListening();
    t.after(relay.close);
    assert.equal((await waiting).body.state, 'Available');
    assert.equal((await available()).available, true);
  });

  test('13: the log contains no card data after any fault', async (t) => {
    const lines: string[] = [];
    const log = createLog(
      { logLevel: 'trace', instanceName: 'test' },
      { write: (line: string) => void lines.push(line) },
    );
    const host = await scripted(t);
    const { connection } = await createLink(t, { port: host.port, log, timeoutMs: 3000 });
    const secret = {
      sensitive: {
        track2: '4111111111111111=30122010000012345678',
        securityCode: '737',
        pin: { block: '1B9C1845EB993A7A', format: 0 as const },
      },
    };
    assert.equal((await connection.send(sale('000001', secret))).outcome, 'Approved');
    // Garbled, of another message type, truncated, and one that cannot be encoded.
    host.script(({ message, socket }) => {
      const bytes = encodeMessageFrame(approvalResponse(message));
      socket.write(bytes.map((byte, at) => (at < 12 ? byte : byte ^ 0xff)));
    });
    assert.equal((await connection.send(sale('000002', secret))).outcome, 'Unknown');
    const unwritable = { ...secret, merchantNumber: 'X'.repeat(40) };
    assert.equal((await connection.send(sale('000003', unwritable))).outcome, 'NotSent');
    host.script(({ message, socket }) => {
      socket.end(Buffer.concat([encodeMessageFrame(message), Buffer.alloc(64, 0xff)]));
    });
    assert.equal((await connection.send(sale('000004', secret))).outcome, 'Unknown');
    const text = lines.join('');
    assert.ok(text.includes('could not be decoded') && text.includes('could not be encoded'));
    for (const word of ['4111111111111111', '30122010000012345678', '1B9C1845EB993A7A', '737"']) {
      assert.ok(!text.includes(word), 'card data in the log');
    }
    host.script(approveNetworkMessages);
  });
});
