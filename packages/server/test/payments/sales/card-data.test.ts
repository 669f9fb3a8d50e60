// After sales of every kind no table, log, response, metric or ledger contains card data in any
// encoding.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { createPan, createTextSearch } from '../../support/card-data/card-data-encodings.ts';
import { chipData, encodeTlv } from '../../support/card-data/chip-data.ts';
import { testDatabase } from '../../support/database/test-database.ts';
import type { HttpResponse } from '../../support/https-client.ts';
import { keyedSale } from '../../support/keyed-sale.ts';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { until } from '../../support/wait-for-result.ts';
import { assertAgreement, waitUntilSettled } from '../ledger/ledger-invariants.ts';

const base = '/payment/v1/transactions';

const pans = {
  keyed: createPan('4'),
  declined: createPan('51'),
  timedOut: createPan('4', 13),
  amex: createPan('37', 15),
  chip: createPan('54'),
  contactless: createPan('4', 19),
  chipTimedOut: createPan('55'),
  refused: createPan('4'),
  swiped: createPan('4'),
  ordered: createPan('52'),
};
const discretionary = '2013489170652';
const track = (pan: string) => `${pan}D34112${discretionary}`.slice(0, 37);
const holderName = 'QUINTILLUS/ZENOBIA MS';
const chipHolder = 'HYPATIA/BRUNHILDE MR';
const expiryTag = encodeTlv({ '5F24': '341129' });
const pinBlock = 'C13A9F77D25B804E';
const ksn = 'FFFF98765432B7E0001D';

const secrets: Record<string, string> = {
  ...pans,
  ...Object.fromEntries(
    Object.entries(pans).flatMap(([name, pan]) => [
      [`${name} track`, track(pan)],
      [`${name} track with =`, track(pan).replace('D', '=')],
    ]),
  ),
  discretionary,
  holderName,
  chipHolder,
  expiryTag,
  pinBlock,
  ksn,
};

/** Chip data with tags 57, 5A, 5F24 and 5F20, as a terminal sends them. */
function chipOf(pan: string, amount: number): string {
  const odd = (digits: string) => (digits.length % 2 === 0 ? digits : `${digits}F`);
  return chipData(pan, {
    '57': odd(track(pan)),
    '5A': odd(pan),
    '5F24': '341129',
    '5F20': Buffer.from(chipHolder).toString('hex').toUpperCase(),
    '9F02': String(amount).padStart(12, '0'),
  });
}

describe('card data', () => {
  let setup: TestOrganization;
  const receivedTexts: string[] = [];

  async function call(method: string, path: string, options: object = {}): Promise<HttpResponse> {
    const answer = await setup.client.call(method, base + path, {
      token: setup.merchant.token,
      ...options,
    });
    receivedTexts.push(`${JSON.stringify(answer.headers)} ${answer.text}`);
    return answer;
  }

  async function sell(members: Record<string, unknown>, expected: string) {
    const body = keyedSale(members);
    const answer = await call('POST', '/process', { body });
    assert.equal(answer.body.state, expected, answer.text);
    return answer.body as { transactionId: string; card: { token: string } };
  }

  const typed = (number: string, securityCode: string) => ({
    instrument: { card: { number, expiryMonth: 11, expiryYear: 2034, securityCode, holderName } },
    deviceId: setup.merchant.deviceIds[0],
  });
  const read = (entryMode: string, pan: string, amount: number) => ({
    entryMode,
    amount,
    instrument: { emvData: chipOf(pan, amount) },
  });

  before(async () => {
    setup = await createTestOrganization();
    const keyed = await sell(typed(pans.keyed, '737'), 'Captured');
    await sell({ ...typed(pans.declined, '8512'), amount: 9051 }, 'Declined');
    await sell({ ...typed(pans.timedOut, '919'), amount: 9091 }, 'Reversing');
    const amex = await sell({ ...typed(pans.amex, '7373'), captureMode: 'Deferred' }, 'Authorized');
    const chip = await sell(read('ContactChip', pans.chip, 1234), 'Captured');
    await sell(read('ContactlessChip', pans.contactless, 9051), 'Declined');
    await sell(read('ContactlessChip', pans.contactless, 1250), 'Captured');
    await sell(read('ContactChip', pans.chipTimedOut, 9091), 'Reversing');
    await sell(
      { entryMode: 'FallbackMagStripe', instrument: { track2: track(pans.swiped) } },
      'Captured',
    );
    const { instrument } = typed(pans.ordered, '246');
    await sell(
      { orderChannel: 'MailOrder', zipCode: '75001', houseNumber: '1', instrument },
      'Captured',
    );
    await sell({ instrument: { token: keyed.card.token } }, 'Captured');
    for (const [id, verb, body] of [
      [keyed.transactionId, 'refund', { amount: 100 }],
      [keyed.transactionId, 'refund', { amount: 9057 - 8000 }],
      [chip.transactionId, 'refund', {}],
      [amex.transactionId, 'capture', { amount: 400 }],
      [amex.transactionId, 'cancel', { cancelReason: 'Functional' }],
      [keyed.transactionId, 'cancel', { cancelReason: 'Technical' }],
    ] as const) {
      await call('POST', `/${id}/${verb}`, { body });
    }
    await refusals();
    await waitUntilSettled(setup);
    const { body } = await call('GET', `/${amex.transactionId}`);
    assert.equal(body.card.maskedNumber, `${pans.amex.slice(0, 6)}*****${pans.amex.slice(-4)}`);
    for (const id of [keyed, chip, amex]) await call('GET', `/${id.transactionId}`);
  });

  /** Sends card data in wrong members; the server must not return or log it. */
  async function refusals(): Promise<void> {
    const pan = pans.refused;
    const sale = keyedSale(typed(pan, '737'));
    const wrong: Record<string, unknown>[] = [
      { ...sale, amount: 'x' },
      { ...sale, [pan]: pan },
      { ...sale, metadata: { note: pan } },
      { ...sale, order: { orderId: `p${pan}` } },
      { ...sale, clientTransactionId: pan },
      { ...sale, entryMode: 'ContactChip' },
      { ...sale, instrument: { card: pan } },
      { ...sale, instrument: { emvData: `${chipOf(pan, 1234)}9F26` } },
      { ...read('ContactChip', pan, 1234), amount: 5, currency: 'EUR', clientTransactionId: 'c' },
      { ...sale, ksn, pinblock: pinBlock, pinblockFormat: 'ISO0' },
      { ...sale, track2: track(pan) },
      { ...sale, currency: 'GBP' },
      { ...sale, storeId: randomUUID() },
    ];
    for (const body of wrong) {
      const { status, text } = await call('POST', '/process', { body });
      assert.ok(status >= 400 && status < 500, text);
    }
    const raw = JSON.stringify(sale);
    for (const broken of [
      raw.slice(0, -3),
      raw.replace('"amount":1234', '"amount":1,"amount":2'),
    ]) {
      assert.equal((await call('POST', '/process', { raw: broken })).status, 400);
    }
    const headers = { 'idempotency-key': pan };
    assert.equal((await call('POST', '/process', { body: sale, headers })).status, 422);
    const endpoints = '/webhooks/v1/endpoints';
    const endpoint = { url: 'https://receiver.example/', eventTypes: ['*'] };
    const made = await setup.client.call('POST', endpoints, {
      token: setup.acquirerToken,
      body: endpoint,
      headers,
    });
    assert.equal(made.body.code, 'client_id_invalid', made.text);
    receivedTexts.push(`${JSON.stringify(made.headers)} ${made.text}`);
    assert.equal((await call('GET', `/${pan}`)).status, 404);
    const grouped = pan.replace(/(\d{4})(?=\d)/g, '$1-');
    assert.equal((await call('GET', `/x?note=${grouped}`)).status, 422);
  }

  const search = createTextSearch(secrets);

  test('the search finds planted card data', () => {
    const { keyed } = pans;
    const hidden = [
      `{"pan":"${keyed}"}`,
      Buffer.from(`xy${keyed}z`).toString('base64'),
      Buffer.from(`\u0001${keyed}`).toString('hex'),
      `\\x00${keyed}00`,
      Buffer.from(`00${keyed}`, 'hex').toString('base64'),
      [...keyed].reverse().join(''),
      `name=${Buffer.from(chipHolder).toString('hex')}`,
      `55${encodeTlv({ '57': track(pans.chip) })}`,
    ];
    for (const text of hidden) assert.ok(search.find(text), text);
    assert.equal(search.find(`411111******1111 ${randomUUID()}`), undefined);
  });

  test('no table contains card data, in any column', async () => {
    const database = await testDatabase();
    const tables = await database.query<{ name: string }>(
      `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name
        FROM information_schema.tables
        WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
          AND table_type = 'BASE TABLE'`,
    );
    assert.ok(tables.length >= 15, `${tables.length} tables`);
    for (const { name } of tables) {
      // Text form shows byte columns as hex, and all other columns as in a dump.
      const rows = await database.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
      for (const { row } of rows) assert.equal(search.find(row), undefined, name);
    }
  });

  test('no log line contains card data at the level trace', () => {
    const sales = setup.logLines.filter((line) => line.includes('/transactions/process'));
    assert.ok(sales.length > 20, `${sales.length} lines`);
    for (const line of setup.logLines)
      assert.equal(search.find(line), undefined, line.slice(0, 300));
    // Identifiers are removed, because their digits could match by chance.
    const all = setup.logLines.join('').replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '');
    assert.doesNotMatch(all, /securityCode|expiryMonth|emvData|holderName|"card":\{/);
    assert.doesNotMatch(all, /9203737|92048512|9203919|92047373/);
  });

  test('no exported span contains card data', async () => {
    const { spans, bodies } = setup.traces;
    const name = 'POST /payment/v1/transactions/process';
    const isOwnSale = (span: (typeof spans)[number]) =>
      span.name === name && span.attributes['switchyard.organization_id'] === setup.organizationId;
    await until(() => spans.filter(isOwnSale).length > 20, 'the spans of the sales');
    for (const body of bodies) assert.equal(search.find(body), undefined);
    assert.doesNotMatch(bodies.join(''), /securityCode|expiryMonth|emvData|holderName|bearer/i);
  });

  test('no response, event or header contains card data', () => {
    assert.ok(receivedTexts.length > 30);
    for (const text of receivedTexts)
      assert.equal(search.find(text), undefined, text.slice(0, 300));
    assert.doesNotMatch(receivedTexts.join(''), /"(?:737|8512|919|7373)"/);
  });

  test('no metric and no file of the acquirer’s ledger contains card data', async () => {
    assert.equal(search.find(await setup.platform.metrics.registry.metrics()), undefined);
    const folder = join(setup.settings.dataDir, 'acquirer');
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    assert.ok(files.length > 0);
    for (const { parentPath, name: file } of files) {
      const lines = (await readFile(join(parentPath, file), 'utf8')).split('\n');
      for (const line of lines) assert.equal(search.find(line), undefined, file);
    }
  });

  test('no stored value depends on the security code', async () => {
    const database = await testDatabase();
    const number = createPan('4');
    const stored: unknown[] = [];
    for (const securityCode of ['123', '987', undefined]) {
      const card = { number, expiryMonth: 1, expiryYear: 2033 };
      const withCode = securityCode === undefined ? card : { ...card, securityCode };
      const sold = await sell({ instrument: { card: withCode } }, 'Captured');
      const [row] = await database.query<{ facts: Record<string, unknown> }>(
        `SELECT data->'context' AS facts FROM transaction_events
          WHERE organization_id = $1 AND transaction_id = $2 AND sequence = 1`,
        [setup.organizationId, sold.transactionId],
      );
      const { reference: _reference, ...facts } = row?.facts ?? {};
      stored.push(facts);
    }
    assert.deepEqual(stored[0], stored[1]);
    assert.deepEqual(stored[0], stored[2]);
    const cards = await database.query(
      'SELECT 1 FROM vault_cards WHERE organization_id = $1 AND token = $2',
      [setup.organizationId, (stored[0] as { card: { token: string } }).card.token],
    );
    assert.equal(cards.length, 1);
  });

  test('two organisations have different tokens and hashes of the same card', async () => {
    const other = await createTestOrganization();
    const body = keyedSale(typed(pans.keyed, '737'));
    const sale = { ...body, deviceId: other.merchant.deviceIds[0] };
    const { body: sold } = await other.client.call('POST', `${base}/process`, {
      token: other.merchant.token,
      body: sale,
    });
    const database = await testDatabase();
    const facts = await database.query<{ token: string; instrument: string }>(
      `SELECT data #>> '{context,card,token}' AS token, data #>> '{context,request,instrument}' AS instrument
        FROM transaction_events WHERE organization_id IN ($1, $2) AND sequence = 1
        AND data #>> '{context,card,maskedNumber}' = $3`,
      [setup.organizationId, other.organizationId, sold.card.maskedNumber],
    );
    const otherTokens = facts.filter(({ token }) => token !== sold.card.token);
    assert.ok(otherTokens.length > 0);
    const soldToken = facts.find(({ token }) => token === sold.card.token);
    for (const each of otherTokens) assert.notEqual(each.instrument, soldToken?.instrument);
    const prints = await database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM vault_cards a JOIN vault_cards b
        ON a.fingerprint = b.fingerprint AND a.organization_id < b.organization_id`,
    );
    assert.equal(prints[0]?.count, 0);
  });

  test('the ledgers of platform and host agree', async () => {
    await assertAgreement(setup);
  });
});
