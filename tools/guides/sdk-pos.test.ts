// The SDK for points of sale with a simulated terminal, and the command that sells with it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { closeCodes } from '../../packages/contract/src/index.ts';
import { openLocalListener } from '../../packages/sdk-device/src/index.ts';
import { testCertificates } from '../../packages/sdk-device/src/testing/certificates.fixture.ts';
import {
  createTerminal,
  memoryServiceStore,
  type PosTls,
} from '../../packages/sdk-pos/src/index.ts';
import { startFakeConnector } from '../../packages/sdk-pos/src/testing/fake-connector.fixture.ts';
import { createFakeTerminal } from '../../packages/sdk-pos/src/testing/fake-terminal.fixture.ts';
import {
  listenLocally,
  createTerminal as simulateTerminal,
  type TerminalPlatform,
} from '../../packages/simulators/src/index.ts';

const tsn = 'AXIUM_DX8000-10000001';
const root = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'switchyard-sdk-pos-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A platform that approves, and writes down what is given back. */
function approving() {
  const refunds: unknown[] = [];
  const at = '2026-03-01T10:00:00.000Z';
  const transaction = (body: object) => ({
    transactionId: 'a-1',
    state: 'Captured',
    approved: true,
    amount: 1250,
    currency: 'EUR',
    authorizedAmount: 1250,
    createdAt: at,
    updatedAt: at,
    operations: [],
    ...body,
  });
  const answered = (body: object) =>
    Promise.resolve({ outcome: 'Answered', transaction: transaction(body) } as never);
  const platform: TerminalPlatform = {
    processSale: ({ clientTransactionId }) => answered({ clientTransactionId }),
    operate(id, verb, { amount }) {
      refunds.push({ id, verb, amount });
      return answered({ operation: { status: 'Succeeded', kind: verb, amount, createdAt: at } });
    },
    findTransaction: () => answered({}),
    findUndoOperation: () => Promise.resolve('refund'),
    isAvailable: () => Promise.resolve(true),
    merchant: () => Promise.resolve('m-1'),
    close: () => undefined,
  };
  return { platform, refunds };
}

test('a partial refund that names its original is made', async () => {
  const { platform, refunds } = approving();
  const directory = mkdtempSync(join(folder, 'terminal-'));
  const simulated = simulateTerminal({
    tsn,
    dataDir: directory,
    platform,
    now: Date.now,
    times: { stepMs: 1 },
    keys: { baseDerivationKey: '0123456789ABCDEFFEDCBA9876543210', ksn: 'FFFF9876543210E00001' },
    random: (size) => randomBytes(size),
  });
  const where = { host: '127.0.0.1', port: 0, directory, names: [] };
  const local = await listenLocally(simulated, { ...where, now: Date.now });
  const tls = { ca: readFileSync(local.certFile, 'utf8') };
  const terminal = createTerminal({
    saleId: 'till-3',
    poiId: tsn,
    store: memoryServiceStore(),
    transport: { kind: 'local', url: local.url, tls },
  });
  try {
    await terminal.open();
    const sold = await terminal.sale({ amount: 1250, currency: 'EUR', transactionId: '4711' });
    assert.equal(sold.result, 'Success');
    const made = sold.message.body.POIData?.POITransactionID;
    assert.ok(made);
    const original = { poiTransactionId: made.TransactionID, poiTimeStamp: made.TimeStamp };
    const order = { amount: 450, currency: 'EUR', transactionId: '4712', original };
    const refund = await terminal.refund(order);
    assert.equal(refund.result, 'Success', refund.condition);
    assert.deepEqual(refunds, [{ id: 'a-1', verb: 'refund', amount: 450 }]);
  } finally {
    await terminal.close();
    await local.close();
    await simulated.stop();
  }
});

test('a terminal that requires client certificates accepts that of the point of sale', async (t) => {
  const { ca, server, device: deviceCertificate } = await testCertificates();
  const poi = createFakeTerminal(tsn);
  const listener = await openLocalListener({
    host: '127.0.0.1',
    port: 0,
    ...server,
    clientCa: ca,
    handle: (message) => new Promise((resolve) => poi.receive(message, resolve)),
  });
  t.after(listener.close);
  const order = { amount: 1250, currency: 'EUR', transactionId: '4711' };
  const till = async (url: string, tls: PosTls) => {
    const terminal = createTerminal({
      saleId: 'till-3',
      poiId: tsn,
      store: memoryServiceStore(),
      transport: { kind: 'local', url, tls },
    });
    t.after(terminal.close);
    await terminal.open();
    return terminal;
  };
  const { url, socketUrl } = listener;
  const withoutCertificate = await till(socketUrl, { ca });
  await assert.rejects(withoutCertificate.sale(order), {
    code: 'unreachable',
    outcome: 'NotProcessed',
  });
  for (const each of [url, socketUrl]) {
    const terminal = await till(each, { ca, ...deviceCertificate });
    assert.equal((await terminal.sale(order)).result, 'Success', each);
  }
  assert.equal(poi.services.length, 2);
});

test('a paid sale is reported as paid although the connector ends before the response', async () => {
  const connector = await startFakeConnector();
  const poi = createFakeTerminal(tsn);
  connector.terminal = (text, respond) =>
    poi.receive(text, (answer) => {
      respond(answer);
      if (poi.receivedCategories.at(-1) !== 'Payment') return;
      connector.rejectHandshake = () => ({ status: 503 });
      for (const control of connector.controls) control.close(closeCodes.restarting, 'restarting');
    });
  const { baseUrl } = connector;
  const demo = mkdtempSync(join(folder, 'demo-'));
  writeFileSync(join(demo, 'ca.pem'), '');
  const facts = {
    baseUrl,
    authUrl: baseUrl,
    userDomainId: 'demo',
    caFile: join(demo, 'ca.pem'),
    applications: { pos: { clientId: 'a', clientSecret: 'b', storeId: '1' } },
    devices: [{ tsn, storeId: '1' }],
  };
  writeFileSync(join(demo, 'demo.json'), JSON.stringify(facts));
  const command = join(root, 'packages/cli/bin/switchyard.cjs');
  const sale = ['pos', 'sale', '12.50', '--demo', demo, '--json'];
  const child = spawn(process.execPath, [command, ...sale], { cwd: demo });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (part) => {
    output.stdout += String(part);
  });
  child.stderr.on('data', (part) => {
    output.stderr += String(part);
  });
  try {
    const [code] = await once(child, 'close', { signal: AbortSignal.timeout(100_000) });
    assert.equal(code, 0, output.stderr);
    assert.equal(JSON.parse(output.stdout).result, 'Success');
    assert.match(output.stderr, /The session with the terminal was not closed/);
  } finally {
    child.kill('SIGKILL');
    await connector.stop();
  }
});
