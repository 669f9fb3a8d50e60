// Whole run: commands as users start them, each a process of its own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { StoredService } from '@switchyard/sdk-pos';
import { run, runUntil } from '../../command-line/run-command.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-pos-sale-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a sale reports invalid input before it starts, and whether money moved', async () => {
  const nowhere = await run('pos', 'sale', '12.50', '--demo', join(folder, 'nowhere'));
  assert.equal(nowhere.code, 2, nowhere.stderr);
  const half = await run('pos', 'sale', '12.505', '--demo', folder);
  assert.equal(half.code, 2);
  assert.match(half.stderr, /12\.505 is not an amount of EUR/);
  writeFileSync(join(folder, 'ca.pem'), '');
  const facts = {
    baseUrl: 'http://127.0.0.1:1',
    authUrl: 'http://127.0.0.1:1',
    userDomainId: 'demo',
    caFile: join(folder, 'ca.pem'),
    applications: { pos: { clientId: 'a', clientSecret: 's3cr3t', storeId: '1' } },
    devices: [{ tsn: 'AXIUM_DX8000-10000001', storeId: '1' }],
  };
  writeFileSync(join(folder, 'demo.json'), JSON.stringify(facts));
  const unreachable = await run('pos', 'sale', '12.50', '--demo', folder);
  assert.equal(unreachable.code, 7, unreachable.stderr);
  assert.match(unreachable.stderr, /Transport: .*\n.*No money moved/);
  assert.doesNotMatch(unreachable.stderr, /s3cr3t/);
  writeFileSync(join(folder, 'demo.json'), JSON.stringify({ ...facts, devices: [] }));
  assert.equal((await run('pos', 'sale', '12.50', '--demo', folder)).code, 5);
});

type Members = Record<string, unknown>;
const tsn = 'AXIUM_DX8000-10000001';
const at = '2026-03-01T10:00:00.000Z';

/** The response of a paid payment. */
const paid = (SaleTransactionID: unknown): Members => ({
  Response: { Result: 'Success' },
  SaleData: { SaleTransactionID },
  POIData: { POITransactionID: { TransactionID: 'poi-1', TimeStamp: at } },
  PaymentResult: { AmountsResp: { Currency: 'EUR', AuthorizedAmount: 12.5 } },
});

/**
 * A terminal in the local network that answers with `bodyOf`; `categories` lists the received messages. `headOf`
 * changes the header of a response.
 */
async function localTerminal(
  t: TestContext,
  bodyOf: (category: string, body: Members) => Members,
  headOf: (header: Members) => Members = (header) => header,
) {
  const categories: string[] = [];
  function answered(text: string): string {
    const request = JSON.parse(text) as { SaleToPOIRequest: { MessageHeader: Members } & Members };
    const { MessageHeader: header, ...bodies } = request.SaleToPOIRequest;
    const category = String(header['MessageCategory']);
    categories.push(category);
    const body = bodyOf(category, bodies[`${category}Request`] as Members);
    const MessageHeader = { ...headOf(header), MessageType: 'Response' } as Members;
    const member = `${String(MessageHeader['MessageCategory'])}Response`;
    return JSON.stringify({ SaleToPOIResponse: { MessageHeader, [member]: body } });
  }
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    request.on('end', () => response.end(answered(text)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { categories, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/nexo` };
}

/** A demo folder with these open payments in the file of the point of sale. */
function demoWith(open: readonly StoredService[]): string {
  const demoDir = mkdtempSync(join(folder, 'demo-'));
  writeFileSync(join(demoDir, 'ca.pem'), '');
  const facts = {
    baseUrl: 'http://127.0.0.1:1',
    authUrl: 'http://127.0.0.1:1',
    userDomainId: 'demo',
    caFile: join(demoDir, 'ca.pem'),
    applications: { pos: { clientId: 'a', clientSecret: 's3cr3t', storeId: '1' } },
    devices: [{ tsn, storeId: '1' }],
  };
  writeFileSync(join(demoDir, 'demo.json'), JSON.stringify(facts));
  mkdirSync(join(demoDir, 'tills'));
  const lines = open.map((put) => `${JSON.stringify({ put })}\n`);
  writeFileSync(
    join(demoDir, 'tills', `till-1-${tsn.replace(/[^\w-]/g, '_')}.jsonl`),
    lines.join(''),
  );
  return demoDir;
}

const headerOf = (serviceId: string): StoredService['header'] => ({
  ...({ MessageClass: 'Service', MessageCategory: 'Payment', MessageType: 'Request' } as const),
  SaleID: 'till-1',
  ServiceID: serviceId,
  POIID: tsn,
});
const unknownOf = (serviceId: string, at: number): StoredService => ({
  serviceId,
  header: headerOf(serviceId),
  at,
  outcome: 'Unknown',
});

test('a payment with an unknown outcome is recovered before a new sale starts', async (t) => {
  const header = headerOf('S1');
  const open = unknownOf('S1', Date.now());
  const { categories, url } = await localTerminal(t, (category, body) => {
    const Response = { Result: 'Success' };
    if (category === 'Payment') return paid((body['SaleData'] as Members)['SaleTransactionID']);
    if (category !== 'TransactionStatus') return { Response };
    const RepeatedMessageResponse = {
      MessageHeader: { ...header, MessageType: 'Response' },
      RepeatedResponseMessageBody: {
        PaymentResponse: paid({ TransactionID: '4711', TimeStamp: at }),
      },
    };
    return { Response, MessageReference: body['MessageReference'], RepeatedMessageResponse };
  });
  const sell = ['pos', 'sale', '12.50', '--demo', demoWith([open]), '--local', url, '--json'];
  const first = await run(...sell);
  assert.equal(first.code, 11, first.stderr);
  assert.deepEqual(categories, ['TransactionStatus'], 'nothing is sold');
  const { result, earlier } = JSON.parse(first.stdout) as { result: string; earlier: Members[] };
  assert.deepEqual(
    [result, ...earlier.map(({ serviceId, outcome }) => `${serviceId} ${outcome}`)],
    ['NotAsked', 'S1 Paid'],
  );
  // The first run reported the outcome, so the payment is settled.
  const second = await run(...sell);
  assert.equal(second.code, 0, second.stderr);
  assert.deepEqual(categories, ['TransactionStatus', 'Login', 'Payment']);
});

const twoDaysMs = 172_800_000;

/** A terminal that knows of no payment; `asked` has the services that it was askedIds about. */
async function terminalWithoutPayments(t: TestContext, onAsked = () => {}) {
  const askedIds: string[] = [];
  const terminal = await localTerminal(t, (category, body) => {
    if (category === 'Payment') return paid((body['SaleData'] as Members)['SaleTransactionID']);
    if (category !== 'TransactionStatus') return { Response: { Result: 'Success' } };
    askedIds.push(String((body['MessageReference'] as Members)['ServiceID']));
    onAsked();
    return { Response: { Result: 'Failure', ErrorCondition: 'NotFound' } };
  });
  return { ...terminal, askedIds };
}

const outcomesIn = (stdout: string): string[] =>
  (JSON.parse(stdout) as { earlier: Members[] }).earlier.map(
    ({ serviceId, outcome }) => `${serviceId} ${outcome}`,
  );

// Spec: NEXO-43
test('a payment that the terminal may have forgotten blocks new sales until the user settles it', async (t) => {
  const { categories, url, askedIds } = await terminalWithoutPayments(t);
  const at = Date.now() - twoDaysMs;
  const demo = demoWith([unknownOf('S1', at), unknownOf('S2', at + 1)]);
  const till = ['--demo', demo, '--local', url, '--json'];
  const refused = await run('pos', 'sale', '12.50', ...till);
  assert.equal(refused.code, 11, refused.stderr);
  assert.deepEqual(outcomesIn(refused.stdout), ['S1 Unknown', 'S2 Unknown']);
  assert.deepEqual(askedIds, ['S1', 'S1'], 'the terminal is not asked for a second payment');
  const first = await run('pos', 'recover', '--paid', 'S1', ...till);
  assert.equal(first.code, 11, 'the other one is open');
  assert.deepEqual(outcomesIn(first.stdout), ['S1 Paid']);
  assert.equal((await run('pos', 'recover', '--paid', 'S1', ...till)).code, 5, 'settled once');
  const second = await run('pos', 'recover', '--not-paid', 'S2', ...till);
  assert.equal(second.code, 0, second.stderr);
  assert.deepEqual(outcomesIn(second.stdout), ['S2 NotPaid']);
  assert.ok(!categories.includes('Payment'));
  const sold = await run('pos', 'sale', '12.50', ...till);
  assert.equal(sold.code, 0, sold.stderr);
});

// Spec: NEXO-43
test('--not-paid is rejected for 48 hours, while the payment may still run', async (t) => {
  const minuteMs = 60_000;
  const at = Date.now() - 5 * minuteMs;
  // A response with unreadable amounts leaves the outcome unknown.
  const { categories, url } = await localTerminal(
    t,
    () => ({ ...paid({ TransactionID: '4711', TimeStamp: 'then' }), PaymentResult: 'much' }),
    (header) => (header['MessageCategory'] === 'TransactionStatus' ? headerOf('S1') : header),
  );
  const till = ['--demo', demoWith([unknownOf('S1', at)]), '--local', url];
  const early = await run('pos', 'recover', '--not-paid', 'S1', ...till);
  assert.equal(early.code, 11, early.stderr);
  assert.match(early.stdout, /S1 of .* may still run.*--not-paid is accepted from/s);
  assert.ok(early.stdout.includes(new Date(at + twoDaysMs).toISOString()), early.stdout);
  const stillOpen = await run('pos', 'recover', '--not-paid', 'S1', ...till, '--json');
  assert.equal(stillOpen.code, 11, stillOpen.stderr);
  assert.deepEqual(outcomesIn(stillOpen.stdout), ['S1 Unknown'], 'the payment is still open');
  assert.equal((await run('pos', 'sale', '12.50', ...till)).code, 11, 'nothing is sold');
  assert.deepEqual(new Set(categories), new Set(['TransactionStatus']));
  const settled = await run('pos', 'recover', '--paid', 'S1', ...till);
  assert.equal(settled.code, 0, settled.stderr);
});

// Spec: NEXO-43
test('a payment that an exchanged or reset terminal does not know blocks new sales until the user settles it', async (t) => {
  const { categories, url } = await terminalWithoutPayments(t);
  const earlier: StoredService = { ...unknownOf('S0', Date.now() - 2_000), outcome: 'Answered' };
  const demo = demoWith([earlier, unknownOf('S1', Date.now() - 1_000)]);
  const till = ['--demo', demo, '--local', url];
  const refused = await run('pos', 'sale', '12.50', ...till);
  assert.equal(refused.code, 11, refused.stderr);
  assert.match(refused.stderr, /S1 of .* may have been exchanged or reset/s);
  const settled = await run('pos', 'recover', '--not-paid', 'S1', ...till, '--json');
  assert.equal(settled.code, 0, settled.stderr);
  assert.deepEqual(outcomesIn(settled.stdout), ['S1 NotPaid']);
  assert.ok(!categories.includes('Payment'));
});

test('an aborted recovery sends no further request, and the outcome stays unknown', async (t) => {
  const stop = new AbortController();
  const { categories, url } = await terminalWithoutPayments(t, () => stop.abort());
  const demo = demoWith([unknownOf('S1', Date.now()), unknownOf('S2', Date.now())]);
  const till = ['--demo', demo, '--local', url, '--json'];
  for (const command of [['sale', '12.50'], ['recover']]) {
    const ended = await runUntil(stop.signal, 'pos', ...command, ...till);
    assert.equal(ended.code, 11, ended.stderr);
    assert.match(ended.stderr, /Money may have moved/);
  }
  assert.deepEqual(categories, ['TransactionStatus'], 'only one enquiry');
  // Without an open payment no money can have moved.
  const noPayments = ['--demo', demoWith([]), '--local', url];
  const ended = await runUntil(stop.signal, 'pos', 'sale', '12.50', ...noPayments);
  assert.equal(ended.code, 130, ended.stderr);
  assert.match(ended.stderr, /No money moved/);
});
