// Whole run: much is made, or waited for, before it shows.
// The local way in, with the public Adyen API library as an independent till.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import * as library from '@adyen/api-library';
import { createProtection, isMessage, readMessage, type SharedKey } from '@switchyard/nexo';
import { createFakePlatform } from '../platform/fake-platform.fixture.ts';
import { createTerminal } from '../terminal.ts';
import { listenLocally } from './local-listener.ts';

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

async function open(isProtected: boolean, patience?: { headMs: number; allMs: number }) {
  const directory = mkdtempSync(join(tmpdir(), 'switchyard-local-'));
  const fake = createFakePlatform();
  const terminal = createTerminal({
    tsn: poiId,
    dataDir: directory,
    platform: fake.platform,
    now: Date.now,
    keys: {
      baseDerivationKey: '0123456789ABCDEFFEDCBA9876543210',
      ksn: 'FFFF9876543210E00001',
    },
    random: (size) => randomBytes(size),
    times: { stepMs: 1, cardWaitMs: 60_000, rebootMs: 5, lateAnswerMs: 5, enquiryMs: 1 },
  });
  const protection = isProtected ? createProtection({ keys: [key], randomBytes }) : undefined;
  const local = await listenLocally(terminal, {
    host: '127.0.0.1',
    port: 0,
    directory,
    protection,
    timeouts: patience,
    now: Date.now,
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
  ProtocolVersion: '3.0',
  MessageClass: 'Service',
  MessageType: 'Request',
  SaleID: 'till-3',
  POIID: poiId,
  MessageCategory,
  ServiceID,
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

// Spec: SET-4
test('the public library pays over protected messages, and aborts', async () => {
  const { fake, terminal, local } = await open(true);
  const till = clientOf(local.port, local.certFile);
  const paid = (await till.request(payment('1') as never, securityKey)).SaleToPOIResponse;
  assert.equal(paid?.PaymentResponse?.Response.Result, 'Success');
  assert.equal(paid?.PaymentResponse?.PaymentResult?.AmountsResp?.AuthorizedAmount, 12.5);
  assert.equal(fake.taken(), 1250);
  terminal.setCard('absent');
  const waiting = till.request(payment('2', 10) as never, securityKey);
  const end = Date.now() + 30_000;
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

test('a wrong pass phrase and a clear message get a Reject event', async () => {
  const { fake, local } = await open(true);
  const till = clientOf(local.port, local.certFile);
  const wrong = { ...securityKey, Passphrase: 'not it' };
  // The library has no words for an event in clear; the bytes are looked at below.
  await assert.rejects(till.request(payment('1') as never, wrong));
  const clear = JSON.stringify(payment('2'));
  assert.deepEqual(rejected(await post(local, '/nexo', clear)), {
    details: 'message protection is required',
    message: clear,
  });
  assert.equal(fake.sold.length, 0);
});

test('the public client library receives a declined payment, and an error for the wrong terminal', async () => {
  const { fake, local } = await open(true);
  const till = clientOf(local.port, local.certFile);
  fake.next('Declines');
  const declined = (await till.request(payment('D1') as never, securityKey)).SaleToPOIResponse;
  const { Result, ErrorCondition } = declined?.PaymentResponse?.Response ?? {};
  assert.deepEqual([Result, ErrorCondition], ['Failure', 'Refusal']);
  const wrong = payment('D2');
  wrong.SaleToPOIRequest.MessageHeader.POIID = 'AXIUM_DX8000-99999999';
  const answer = (await till.request(wrong as never, securityKey)).SaleToPOIResponse;
  assert.equal(answer?.PaymentResponse?.Response.ErrorCondition, 'UnavailableDevice');
  assert.equal(fake.taken(), 0);
});

/** The reason of a Reject event, and the rejected message. */
function rejected({ status, text }: Answer) {
  assert.equal(status, 200);
  const reading = readMessage(text);
  assert.ok(reading.kind === 'Message' && isMessage(reading.message, 'Event', 'Notification'));
  const { EventToNotify, EventDetails, RejectedMessage = '' } = reading.message.body;
  assert.equal(EventToNotify, 'Reject');
  return { details: EventDetails, message: Buffer.from(RejectedMessage, 'base64').toString() };
}

test('a request of the wrong class and a device message without a device get a Reject event', async () => {
  const { fake, local } = await open(false);
  const { SaleToPOIRequest: envelope } = payment('W1');
  const device = { SoundAction: 'StopSound', ResponseMode: 'NotRequired' };
  const wrong = { ...envelope.MessageHeader, MessageClass: 'Event' };
  const { ServiceID: _, ...without } = header('Sound', 'W2');
  for (const message of [
    { SaleToPOIRequest: { ...envelope, MessageHeader: wrong } },
    { SaleToPOIRequest: { ...envelope, MessageHeader: { ...wrong, MessageClass: 'Device' } } },
    {
      SaleToPOIRequest: {
        MessageHeader: { ...without, MessageClass: 'Device' },
        SoundRequest: device,
      },
    },
  ]) {
    const text = JSON.stringify(message);
    assert.equal(rejected(await post(local, '/nexo', text)).message, text);
  }
  assert.equal(fake.sold.length, 0);
});

type Wire = { MessageHeader: Record<string, unknown>; SecurityTrailer: Record<string, unknown> } & {
  NexoBlob: string;
};

/** As a till writes it, and as an attacker in between changes it. */
function protectedText(id: string, change: (wire: Wire) => void, by: SharedKey = key): string {
  const message = readMessage(JSON.stringify(payment(id)));
  assert.ok(message.kind === 'Message');
  const text = createProtection({ keys: [by], randomBytes }).protect(message.message);
  const wire = JSON.parse(text).SaleToPOIRequest as Wire;
  change(wire);
  return JSON.stringify({ SaleToPOIRequest: wire });
}

const flipped = (base64: unknown): string => {
  const bytes = Buffer.from(String(base64), 'base64');
  bytes[0] = (bytes[0] ?? 0) ^ 1;
  return bytes.toString('base64');
};

// Spec: NEXO-61 NEXO-62
test('the terminal answers a changed message or a message under another key with a Reject event, and sells nothing', async () => {
  const { fake, local } = await open(true);
  const changes: readonly ((wire: Wire) => void)[] = [
    (wire) => {
      wire.SecurityTrailer['Hmac'] = flipped(wire.SecurityTrailer['Hmac']);
    },
    (wire) => {
      wire.SecurityTrailer['Hmac'] = '';
    },
    (wire) => {
      wire.SecurityTrailer['Nonce'] = flipped(wire.SecurityTrailer['Nonce']);
    },
    (wire) => {
      wire.NexoBlob = flipped(wire.NexoBlob);
    },
    (wire) => {
      wire.SecurityTrailer['KeyVersion'] = 2;
    },
    (wire) => {
      wire.SecurityTrailer['KeyIdentifier'] = 'store-8';
    },
    (wire) => {
      wire.SecurityTrailer['AdyenCryptoVersion'] = 2;
    },
    (wire) => {
      wire.MessageHeader['ServiceID'] = 'other';
    },
    (wire) => {
      wire.MessageHeader['SaleID'] = 'till-4';
    },
  ];
  for (const [at, change] of changes.entries()) {
    const message = protectedText(`B${at}`, change);
    const rejection = rejected(await post(local, '/nexo', message));
    assert.deepEqual(rejection, { details: 'cannot be decrypted', message }, `change ${at}`);
  }
  const older: SharedKey = { ...key, version: 0 };
  const message = protectedText('B99', () => {}, older);
  const rejection = rejected(await post(local, '/nexo', message));
  assert.deepEqual(rejection, { details: 'cannot be decrypted', message });
  assert.equal(fake.sold.length, 0);
});

// Spec: NEXO-61
test('a copy of a protected message is rejected, and pays nothing', async () => {
  const { fake, local, terminal } = await open(true);
  const text = protectedText('R1', () => {});
  assert.equal((await post(local, '/nexo', text)).status, 200);
  for (let copy = 0; copy < 2; copy += 1) {
    const { status, text: answerText } = await post(local, '/nexo', text);
    assert.equal(status, 200);
    const reading = readMessage(answerText);
    assert.ok(reading.kind === 'Protected', 'the answer does not repeat the request in clear text');
    const opened = createProtection({ keys: [key], randomBytes }).open(reading);
    assert.ok(opened.kind === 'Message' && isMessage(opened.message, 'Event', 'Notification'));
    assert.equal(opened.message.body.EventToNotify, 'Reject');
    await terminal.reboot();
  }
  assert.equal(fake.taken(), 1250);
});

test('the terminal disconnects slow clients, refuses requests of web pages, and serves other clients', async () => {
  const { local } = await open(false, { headMs: 4000, allMs: 5000 });
  const head = 'POST /nexo HTTP/1.1\r\nhost: terminal\r\n';
  const slow = ['', head, `${head}content-length: 100\r\n\r\n{`].map((start) => {
    const socket = connect({
      host: '127.0.0.1',
      port: local.port,
      ca: readFileSync(local.certFile),
    });
    socket.on('error', () => {});
    if (start !== '') socket.write(start);
    return readAll(socket);
  });
  const { status } = await post(local, '/nexo', JSON.stringify(payment('1')));
  assert.equal(status, 200);
  const [, half, body] = await Promise.all(slow);
  assert.match(half ?? '', /^HTTP\/1\.1 408 /);
  assert.match(body ?? '', /^HTTP\/1\.1 408 /);
  const page = await post(local, '/nexo', JSON.stringify(payment('2')), 'POST', {
    origin: 'https://x.example',
  });
  assert.equal(page.status, 403);
});

type Answer = { readonly status: number; readonly text: string };

function post(
  { port, certFile }: { port: number; certFile: string },
  path: string,
  body: string,
  method = 'POST',
  headers: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      method,
      headers,
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

// Spec: CC-25
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

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

// Spec: NEXO-55
test('a power loss of the terminal closes the connection, and the point of sale queries the result later', async () => {
  const { local, fake, terminal } = await open(false);
  terminal.setFault('Reboot');
  await assert.rejects(post(local, '/nexo', JSON.stringify(payment('1'))));
  let repeated: string | undefined;
  for (let attempt = 0; repeated === undefined; attempt += 1) {
    const TransactionStatusRequest = {
      MessageReference: { MessageCategory: 'Payment', SaleID: 'till-3', ServiceID: '1' },
    };
    const MessageHeader = header('TransactionStatus', `T${attempt}`);
    const statusRequest = { SaleToPOIRequest: { MessageHeader, TransactionStatusRequest } };
    const { text } = await post(local, '/nexo', JSON.stringify(statusRequest));
    const statusResponse =
      text === '' ? {} : JSON.parse(text).SaleToPOIResponse?.TransactionStatusResponse;
    const { RepeatedResponseMessageBody: body } = statusResponse?.RepeatedMessageResponse ?? {};
    repeated = body?.PaymentResponse.Response.Result;
  }
  assert.equal(repeated, 'Success');
  assert.equal(fake.taken(), 1250);
  terminal.setCard('absent');
  const waiting = assert.rejects(post(local, '/nexo', JSON.stringify(payment('2'))));
  while (terminal.screen().state !== 'Card') await nextTurn();
  await terminal.reboot();
  await waiting;
  assert.equal(fake.taken(), 1250);
});

test('the certificate stays the same over a restart', async () => {
  const { local, directory, terminal } = await open(false);
  const before = readFileSync(local.certFile, 'utf8');
  const second = await listenLocally(terminal, {
    host: '127.0.0.1',
    port: 0,
    directory,
    now: Date.now,
    names: ['AXIUMDX8000-10000001.test.terminal.adyen.com'],
  });
  assert.equal(readFileSync(second.certFile, 'utf8'), before);
  await second.close();
});
