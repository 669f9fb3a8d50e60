// Whole run: commands as users start them, each a process of its own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import type { KeptService } from '@switchyard/sdk-pos';
import { run, runUntil } from '../../command-line/run-command.fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'switchyard-pos-sale-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a sale says what is wrong before anything is begun, and whether money moved', async () => {
  const nowhere = await run('pos', 'sale', '12.50', '--demo', join(folder, 'nowhere'));
  assert.equal(nowhere.code, 2, nowhere.stderr);
  const half = await run('pos', 'sale', '12.505', '--demo', folder);
  assert.equal(half.code, 2);
  assert.match(half.stderr, /12\.505 is no amount of EUR/);
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
  const away = await run('pos', 'sale', '12.50', '--demo', folder);
  assert.equal(away.code, 7, away.stderr);
  assert.match(away.stderr, /Transport: .*\n.*No money moved/);
  assert.doesNotMatch(away.stderr, /s3cr3t/);
  writeFileSync(join(folder, 'demo.json'), JSON.stringify({ ...facts, devices: [] }));
  assert.equal((await run('pos', 'sale', '12.50', '--demo', folder)).code, 5);
});

type Members = Record<string, unknown>;
const tsn = 'AXIUM_DX8000-10000001';
const at = '2026-03-01T10:00:00.000Z';

/** The answer of a payment that was paid. */
const paid = (SaleTransactionID: unknown): Members => ({
  Response: { Result: 'Success' },
  SaleData: { SaleTransactionID },
  POIData: { POITransactionID: { TransactionID: 'poi-1', TimeStamp: at } },
  PaymentResult: { AmountsResp: { Currency: 'EUR', AuthorizedAmount: 12.5 } },
});

/**
 * A terminal in the local network, which says what it is told to; `heard` has the categories that came. An answer may
 * be given another head than that of its request.
 */
async function localTerminal(
  t: TestContext,
  bodyOf: (category: string, body: Members) => Members,
  headOf: (header: Members) => Members = (header) => header,
) {
  const heard: string[] = [];
  function answered(text: string): string {
    const asked = JSON.parse(text) as { SaleToPOIRequest: { MessageHeader: Members } & Members };
    const { MessageHeader: header, ...bodies } = asked.SaleToPOIRequest;
    const category = String(header['MessageCategory']);
    heard.push(category);
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
  return { heard, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/nexo` };
}

/** A demo of its own, with what a till has left in its file. */
function demoWith(left: readonly KeptService[]): string {
  const own = mkdtempSync(join(folder, 'demo-'));
  writeFileSync(join(own, 'ca.pem'), '');
  const facts = {
    baseUrl: 'http://127.0.0.1:1',
    authUrl: 'http://127.0.0.1:1',
    userDomainId: 'demo',
    caFile: join(own, 'ca.pem'),
    applications: { pos: { clientId: 'a', clientSecret: 's3cr3t', storeId: '1' } },
    devices: [{ tsn, storeId: '1' }],
  };
  writeFileSync(join(own, 'demo.json'), JSON.stringify(facts));
  mkdirSync(join(own, 'tills'));
  const lines = left.map((put) => `${JSON.stringify({ put })}\n`);
  writeFileSync(join(own, 'tills', `till-1-${tsn.replace(/\W/g, '_')}.jsonl`), lines.join(''));
  return own;
}

const headerOf = (serviceId: string): KeptService['header'] => ({
  ...({ MessageClass: 'Service', MessageCategory: 'Payment', MessageType: 'Request' } as const),
  SaleID: 'till-1',
  ServiceID: serviceId,
  POIID: tsn,
});
const unknownOf = (serviceId: string, at: number): KeptService => ({
  serviceId,
  header: headerOf(serviceId),
  at,
  outcome: 'Unknown',
});

test('a payment that nobody could tell of is asked for before anything is sold', async (t) => {
  const header = headerOf('S1');
  const left = unknownOf('S1', Date.now());
  const { heard, url } = await localTerminal(t, (category, body) => {
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
  const sell = ['pos', 'sale', '12.50', '--demo', demoWith([left]), '--local', url, '--json'];
  const first = await run(...sell);
  assert.equal(first.code, 11, first.stderr);
  assert.deepEqual(heard, ['TransactionStatus'], 'nothing is sold');
  const { result, earlier } = JSON.parse(first.stdout) as { result: string; earlier: Members[] };
  assert.deepEqual(
    [result, ...earlier.map(({ serviceId, outcome }) => `${serviceId} ${outcome}`)],
    ['NotAsked', 'S1 Paid'],
  );
  // Told once, it is settled.
  const second = await run(...sell);
  assert.equal(second.code, 0, second.stderr);
  assert.deepEqual(heard, ['TransactionStatus', 'Login', 'Payment']);
});

const twoDaysMs = 172_800_000;

/** A terminal that knows of no payment; `asked` has the services that it was asked about. */
async function forgetful(t: TestContext, onAsked = () => {}) {
  const asked: string[] = [];
  const on = await localTerminal(t, (category, body) => {
    if (category === 'Payment') return paid((body['SaleData'] as Members)['SaleTransactionID']);
    if (category !== 'TransactionStatus') return { Response: { Result: 'Success' } };
    asked.push(String((body['MessageReference'] as Members)['ServiceID']));
    onAsked();
    return { Response: { Result: 'Failure', ErrorCondition: 'NotFound' } };
  });
  return { ...on, asked };
}

const outcomesIn = (stdout: string): string[] =>
  (JSON.parse(stdout) as { earlier: Members[] }).earlier.map(
    ({ serviceId, outcome }) => `${serviceId} ${outcome}`,
  );

test('what a terminal may have forgotten is sold again when somebody has settled it, and not before', async (t) => {
  const { heard, url, asked } = await forgetful(t);
  const at = Date.now() - twoDaysMs;
  const demo = demoWith([unknownOf('S1', at), unknownOf('S2', at + 1)]);
  const till = ['--demo', demo, '--local', url, '--json'];
  const refused = await run('pos', 'sale', '12.50', ...till);
  assert.equal(refused.code, 11, refused.stderr);
  assert.deepEqual(outcomesIn(refused.stdout), ['S1 Unknown', 'S2 Unknown']);
  assert.deepEqual(asked, ['S1', 'S1'], 'who cannot tell of one is asked of no other');
  const first = await run('pos', 'recover', '--paid', 'S1', ...till);
  assert.equal(first.code, 11, 'the other one is open');
  assert.deepEqual(outcomesIn(first.stdout), ['S1 Paid']);
  assert.equal((await run('pos', 'recover', '--paid', 'S1', ...till)).code, 5, 'settled once');
  const second = await run('pos', 'recover', '--not-paid', 'S2', ...till);
  assert.equal(second.code, 0, second.stderr);
  assert.deepEqual(outcomesIn(second.stdout), ['S2 NotPaid']);
  assert.ok(!heard.includes('Payment'));
  const sold = await run('pos', 'sale', '12.50', ...till);
  assert.equal(sold.code, 0, sold.stderr);
});

test('a payment that may still run is not settled as not paid before its terminal has forgotten it', async (t) => {
  const minuteMs = 60_000;
  const at = Date.now() - 5 * minuteMs;
  // An answer whose amounts cannot be read leaves unknown what became of the money.
  const { heard, url } = await localTerminal(
    t,
    () => ({ ...paid({ TransactionID: '4711', TimeStamp: 'then' }), PaymentResult: 'much' }),
    (header) => (header['MessageCategory'] === 'TransactionStatus' ? headerOf('S1') : header),
  );
  const till = ['--demo', demoWith([unknownOf('S1', at)]), '--local', url];
  const young = await run('pos', 'recover', '--not-paid', 'S1', ...till);
  assert.equal(young.code, 11, young.stderr);
  assert.match(young.stdout, /S1 of .* may still run.*--not-paid is taken from/s);
  assert.ok(young.stdout.includes(new Date(at + twoDaysMs).toISOString()), young.stdout);
  const told = await run('pos', 'recover', '--not-paid', 'S1', ...till, '--json');
  assert.equal(told.code, 11, told.stderr);
  assert.deepEqual(outcomesIn(told.stdout), ['S1 Unknown'], 'it is as open as before');
  assert.equal((await run('pos', 'sale', '12.50', ...till)).code, 11, 'nothing is sold');
  assert.deepEqual(new Set(heard), new Set(['TransactionStatus']));
  const settled = await run('pos', 'recover', '--paid', 'S1', ...till);
  assert.equal(settled.code, 0, settled.stderr);
});

test('whom nobody waits for is not asked on, and what was unknown stays so', async (t) => {
  const stop = new AbortController();
  const { heard, url } = await forgetful(t, () => stop.abort());
  const demo = demoWith([unknownOf('S1', Date.now()), unknownOf('S2', Date.now())]);
  const till = ['--demo', demo, '--local', url, '--json'];
  for (const command of [['sale', '12.50'], ['recover']]) {
    const ended = await runUntil(stop.signal, 'pos', ...command, ...till);
    assert.equal(ended.code, 11, ended.stderr);
    assert.match(ended.stderr, /Money may have moved/);
  }
  assert.deepEqual(heard, ['TransactionStatus'], 'once, and never again');
  // Where nothing is open, nothing can have moved.
  const none = ['--demo', demoWith([]), '--local', url];
  const ended = await runUntil(stop.signal, 'pos', 'sale', '12.50', ...none);
  assert.equal(ended.code, 130, ended.stderr);
  assert.match(ended.stderr, /No money moved/);
});
