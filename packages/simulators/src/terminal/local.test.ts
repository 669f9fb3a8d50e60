// The local way in, with the public Adyen API library as an independent till.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as library from '@adyen/api-library';
import { createProtection, type SharedKey } from '@switchyard/nexo';
import { listenLocally } from './local.ts';
import { fakePlatform } from './platform.fixture.ts';
import { createTerminal } from './terminal.ts';

const poiId = 'AXIUM_DX8000-10000001';
const key: SharedKey = { identifier: 'store-7', version: 1, passphrase: 'correct horse battery' };
const securityKey = {
  AdyenCryptoVersion: 1,
  KeyIdentifier: key.identifier,
  KeyVersion: key.version,
  Passphrase: key.passphrase,
};
const closing: (() => Promise<void> | void)[] = [];

after(async () => {
  for (const close of closing.reverse()) await close();
});

async function open(isProtected: boolean) {
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-local-'));
  const fake = fakePlatform();
  const terminal = createTerminal({
    ...{ tsn: poiId, dataDir: directory, platform: fake.platform, now: Date.now },
    keys: {
      baseDerivationKey: '0123456789ABCDEFFEDCBA9876543210',
      ksn: 'FFFF9876543210E00001',
    },
    random: (size) => randomBytes(size),
    times: { step: 1, card: 60_000, reboot: 5, late: 5, enquiry: 1 },
  });
  const protection = isProtected ? createProtection({ keys: [key], randomBytes }) : undefined;
  const local = await listenLocally(terminal, {
    ...{ host: '127.0.0.1', port: 0, directory, protection, now: Date.now },
    names: ['AXIUMDX8000-10000001.test.terminal.adyen.com'],
  });
  closing.push(async () => {
    await local.close();
    await terminal.stop();
    rmSync(directory, { recursive: true, force: true });
  });
  return { fake, terminal, local, directory };
}

/** The library has one port for all terminals: its own client is sent to ours. */
function clientOf(port: number, certFile: string) {
  const config = new library.Config({
    apiKey: 'unused',
    certificatePath: certFile,
    terminalApiLocalEndpoint: 'https://127.0.0.1',
    environment: library.EnvironmentEnum.TEST,
  } as never);
  const client = new library.Client(config);
  const http = new library.HttpURLConnectionClient();
  const send = http.request.bind(http);
  http.request = (endpoint, ...rest) => {
    assert.equal(new URL(endpoint).pathname, '/nexo/');
    return send(endpoint.replace(':8443', `:${port}`), ...rest);
  };
  client.httpClient = http;
  return new library.TerminalLocalAPI(client);
}

const at = '2026-03-01T10:00:00.000Z';
const header = (MessageCategory: string, ServiceID: string) => ({
  ...{ ProtocolVersion: '3.0', MessageClass: 'Service', MessageType: 'Request' },
  ...{ SaleID: 'till-3', POIID: poiId, MessageCategory, ServiceID },
});
const payment = (ServiceID: string, RequestedAmount = 12.5) => ({
  SaleToPOIRequest: {
    MessageHeader: header('Payment', ServiceID),
    PaymentRequest: {
      SaleData: { SaleTransactionID: { TransactionID: '1', TimeStamp: at } },
      PaymentTransaction: { AmountsReq: { Currency: 'EUR', RequestedAmount } },
    },
  },
});

test('the public library pays over protected messages, and aborts', async () => {
  const { fake, terminal, local } = await open(true);
  const till = clientOf(local.port, local.certFile);
  const paid = (await till.request(payment('1') as never, securityKey)).SaleToPOIResponse;
  assert.equal(paid?.PaymentResponse?.Response.Result, 'Success');
  assert.equal(paid?.PaymentResponse?.PaymentResult?.AmountsResp?.AuthorizedAmount, 12.5);
  assert.equal(fake.taken(), 1250);
  terminal.setCard('absent');
  const waiting = till.request(payment('2', 10) as never, securityKey);
  const end = Date.now() + 5_000;
  while (terminal.screen().state !== 'Card' && Date.now() < end) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const abort = {
    SaleToPOIRequest: {
      MessageHeader: header('Abort', '3'),
      AbortRequest: {
        AbortReason: 'MerchantAbort',
        MessageReference: { MessageCategory: 'Payment', SaleID: 'till-3', ServiceID: '2' },
      },
    },
  };
  const answer = await till.request(abort as never, securityKey);
  assert.equal(answer.SaleToPOIResponse, undefined, 'an abort has no answer of its own');
  const aborted = (await waiting).SaleToPOIResponse?.PaymentResponse?.Response;
  assert.equal(aborted?.Result, 'Failure');
  assert.equal(aborted?.ErrorCondition, 'Aborted');
  assert.equal(fake.taken(), 1250);
});

test('a wrong pass phrase and a clear message are not taken', async () => {
  const { fake, local } = await open(true);
  const till = clientOf(local.port, local.certFile);
  const wrong = { ...securityKey, Passphrase: 'not it' };
  await assert.rejects(till.request(payment('1') as never, wrong));
  const { status } = await post(local, '/nexo', JSON.stringify(payment('2')));
  assert.equal(status, 400);
  assert.equal(fake.sold.length, 0);
});

type Answer = { readonly status: number; readonly text: string };

function post(
  { port, certFile }: { port: number; certFile: string },
  path: string,
  body: string,
  method = 'POST',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      method,
      agent: false,
      ca: readFileSync(certFile),
    };
    const sent = request(options, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        resolve({ status: response.statusCode ?? 0, text });
      });
    });
    sent.on('error', reject);
    sent.end(method === 'GET' ? undefined : body);
  });
}

test('clear messages where that is set, at both paths, and nothing else', async () => {
  const { local, fake, terminal } = await open(false);
  for (const [path, id] of [
    ['/nexo', '1'],
    ['/nexo/', '2'],
  ] as const) {
    const { status, text } = await post(local, path, JSON.stringify(payment(id)));
    assert.equal(status, 200);
    const { PaymentResponse } = JSON.parse(text).SaleToPOIResponse;
    assert.equal(PaymentResponse.Response.Result, 'Success');
  }
  assert.equal(fake.taken(), 2500);
  assert.equal((await post(local, '/other', '{}')).status, 404);
  assert.equal((await post(local, '/nexo', '', 'GET')).status, 405);
  const unread = await post(local, '/nexo', 'not JSON');
  assert.equal(JSON.parse(unread.text).SaleToPOIRequest.EventNotification.EventToNotify, 'Reject');
  assert.equal((await post(local, '/nexo', 'x'.repeat(1_200_000))).status, 413);
  terminal.setFault('DropAfter');
  await assert.rejects(post(local, '/nexo', JSON.stringify(payment('3'))));
  assert.equal(fake.taken(), 3750, 'the connection broke off, the money was taken');
});

test('the certificate stays the same over a restart', async () => {
  const { local, directory, terminal } = await open(false);
  const before = readFileSync(local.certFile, 'utf8');
  const second = await listenLocally(terminal, {
    ...{ host: '127.0.0.1', port: 0, directory, now: Date.now },
    names: ['AXIUMDX8000-10000001.test.terminal.adyen.com'],
  });
  assert.equal(readFileSync(second.certFile, 'utf8'), before);
  await second.close();
});
