import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import NexoCrypto from '@adyen/api-library/lib/src/security/nexoCrypto.js';
import fc from 'fast-check';
import { NexoError } from '../errors.ts';
import { requestOf } from '../messages/build-message.ts';
import type { AnyMessage } from '../messages/message.ts';
import { type ProtectedReading, readMessage } from '../messages/read-message.ts';
import { writeMessage } from '../messages/write-message.ts';
import {
  createProtection,
  type DecryptedReading,
  decryptMessage,
  encryptMessage,
} from './adyen-v1.ts';
import { deriveKeys, type SharedKey } from './derive-keys.ts';

type Vector = {
  name: string;
  passphrase: string;
  hmacKey: string;
  cipherKey: string;
  iv: string;
  nonce: string;
  text: string;
  blob: string;
  hmac: string;
};
const load = <File>(name: string): File =>
  JSON.parse(readFileSync(new URL(`../../vectors/${name}.json`, import.meta.url), 'utf8')) as File;
const { vectors } = load<{ vectors: Vector[] }>('protection');
const recorded = load<{
  keyIdentifier: string;
  keyVersion: number;
  passphrase: string;
  message: object;
}>('terminal-response');

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const key: SharedKey = { identifier: 'store-7', version: 1, passphrase: 'correct horse battery' };
const protection = createProtection({ keys: [key], randomBytes });
const address = { saleId: 'till-3', poiId: 'terminal-1', serviceId: '42' };
const message = requestOf('Admin', address, { ServiceIdentification: 'Prüfung 🙂' });

function protectedReading(text: string): ProtectedReading {
  const reading = readMessage(text);
  assert.equal(reading.kind, 'Protected');
  return reading as ProtectedReading;
}

function errorOf(opened: DecryptedReading): string {
  return opened.kind === 'Rejected' ? opened.error : opened.kind;
}

/** A changed copy of a protected message. */
function with_(text: string, change: (envelope: Record<string, unknown>) => void): string {
  const wire = JSON.parse(text) as { SaleToPOIRequest: Record<string, unknown> };
  change(wire.SaleToPOIRequest);
  return JSON.stringify(wire);
}

test('vectors made with other programs: keys, cipher and code', () => {
  assert.ok(vectors.length >= 3);
  for (const vector of vectors) {
    const keys = deriveKeys(vector.passphrase);
    assert.equal(hex(keys.hmacKey), vector.hmacKey, vector.name);
    assert.equal(hex(keys.cipherKey), vector.cipherKey, vector.name);
    assert.equal(hex(keys.iv), vector.iv, vector.name);
    const nonce = Buffer.from(vector.nonce, 'base64');
    const sealed = encryptMessage(Buffer.from(vector.text), keys, nonce);
    assert.equal(Buffer.from(sealed.blob).toString('base64'), vector.blob, vector.name);
    assert.equal(Buffer.from(sealed.hmac).toString('base64'), vector.hmac, vector.name);
    assert.equal(
      Buffer.from(decryptMessage(sealed, keys) ?? '').toString(),
      vector.text,
      vector.name,
    );
  }
});

// Spec: NEXO-69
test('the recorded answer of a real terminal is opened', () => {
  const { keyIdentifier: identifier, keyVersion: version, passphrase } = recorded;
  const opens = createProtection({ keys: [key, { identifier, version, passphrase }], randomBytes });
  const opened = opens.open(protectedReading(JSON.stringify(recorded.message)));
  assert.equal(opened.kind, 'Message');
  if (opened.kind !== 'Message') return;
  const body = opened.message.body as { Response: object; PaymentResult: { AmountsResp: object } };
  assert.equal((body.Response as { Result: string }).Result, 'Success');
  assert.deepEqual(body.PaymentResult.AmountsResp, { Currency: 'EUR', AuthorizedAmount: 1 });
  assert.deepEqual(opened.unknown, []);
});

test('the public library decrypts our messages, and our code decrypts messages of the public library', () => {
  const securityKey = {
    AdyenCryptoVersion: 1,
    KeyIdentifier: key.identifier,
    KeyVersion: key.version,
    Passphrase: key.passphrase,
  };
  const wire = JSON.parse(protection.protect(message)) as { SaleToPOIRequest: never };
  const Library = libraryOf(NexoCrypto);
  assert.equal(new Library().decrypt(wire.SaleToPOIRequest, securityKey), writeMessage(message));
  const libraryMessage = Library.encrypt(message.header, writeMessage(message), securityKey);
  const opened = protection.open(
    protectedReading(JSON.stringify({ SaleToPOIRequest: libraryMessage })),
  );
  assert.deepEqual(opened.kind === 'Message' && opened.message, message);
});

type Library = {
  new (): { decrypt: (secured: never, key: object) => string };
  encrypt: (header: object, text: string, key: object) => object;
};
/** The class of a CommonJS module, whichever way the runtime wraps its default. */
function libraryOf(module: unknown): Library {
  const { default: inner = module } = module as { default?: unknown };
  return inner as Library;
}

test('each message has a nonce of its own, and the whole message is hidden', () => {
  const texts = Array.from({ length: 20 }, () => protection.protect(message));
  const blobs = new Set(texts.map((text) => protectedReading(text).blob));
  assert.equal(blobs.size, texts.length);
  assert.ok(texts.every((text) => !text.includes('Prüfung')));
});

test('an older key still opens, an unknown one does not', () => {
  const newer: SharedKey = { ...key, version: 2, passphrase: 'another one altogether' };
  const twoKeyProtection = createProtection({ keys: [newer, key], randomBytes });
  const old = protectedReading(protection.protect(message));
  assert.equal(twoKeyProtection.open(old).kind, 'Message');
  assert.equal(protectedReading(twoKeyProtection.protect(message)).trailer['KeyVersion'], 2);
  assert.equal(
    errorOf(protection.open(protectedReading(twoKeyProtection.protect(message)))),
    'UnknownKey',
  );
  for (const change of [
    { KeyVersion: '1' },
    { KeyIdentifier: 'store-8' },
    { AdyenCryptoVersion: 2 },
  ]) {
    const changed = { ...old, trailer: { ...old.trailer, ...change } };
    assert.equal(errorOf(protection.open(changed)), 'UnknownKey');
  }
});

test('a changed byte of blob, nonce or MAC is rejected without a reason', () => {
  const reading = protectedReading(protection.protect(message));
  const parts = {
    blob: reading.blob,
    nonce: reading.trailer['Nonce'],
    hmac: reading.trailer['Hmac'],
  };
  const changes = fc.tuple(
    fc.constantFrom('blob', 'nonce', 'hmac' as const),
    fc.nat(),
    fc.integer({ min: 1, max: 255 }),
  );
  fc.assert(
    fc.property(changes, ([part, at, mask]) => {
      const bytes = Buffer.from(String(parts[part as keyof typeof parts]), 'base64');
      const index = at % bytes.length;
      bytes[index] = (bytes[index] ?? 0) ^ mask;
      const changed = { ...parts, [part]: bytes.toString('base64') };
      const trailer = { ...reading.trailer, Nonce: changed.nonce, Hmac: changed.hmac };
      const opened = protection.open({ ...reading, blob: changed.blob, trailer });
      assert.equal(errorOf(opened), 'NotAuthentic');
    }),
    { numRuns: 300 },
  );
});

test('parts of another length or form are refused alike', () => {
  const reading = protectedReading(protection.protect(message));
  const b64 = (size: number): string => Buffer.alloc(size).toString('base64');
  for (const Nonce of [b64(15), b64(17), b64(0), 16, null, undefined, `${b64(16)}\n`, '!']) {
    const trailer = { ...reading.trailer, Nonce };
    assert.equal(errorOf(protection.open({ ...reading, trailer })), 'NotAuthentic', String(Nonce));
  }
  for (const Hmac of [b64(31), b64(33), b64(0), {}, undefined]) {
    const trailer = { ...reading.trailer, Hmac };
    assert.equal(errorOf(protection.open({ ...reading, trailer })), 'NotAuthentic');
  }
  for (const blob of ['', b64(15), b64(16), b64(17), 'no base64', reading.blob.slice(0, -24)]) {
    assert.equal(errorOf(protection.open({ ...reading, blob })), 'NotAuthentic');
  }
});

test('bad padding and a bad code are one refusal', () => {
  const keys = deriveKeys(key.passphrase);
  const nonce = Buffer.alloc(16, 7);
  const sealed = encryptMessage(Buffer.alloc(64, 'a'), keys, nonce);
  for (let value = 0; value < 256; value += 1) {
    // The last byte of the block before turns into the padding: the classic oracle's question.
    const blob = Buffer.from(sealed.blob);
    blob[blob.length - 17] = value;
    if (blob.equals(sealed.blob)) continue;
    assert.equal(decryptMessage({ ...sealed, blob }, keys), undefined, String(value));
  }
  assert.equal(decryptMessage({ ...sealed, hmac: Buffer.alloc(32) }, keys), undefined);
});

test('the header in clear must be the one inside, and so must the way', () => {
  const text = protection.protect(message);
  for (const [member, value] of Object.entries({
    SaleID: 'till-4',
    ServiceID: '43',
    POIID: 'other',
  })) {
    const changed = with_(text, (envelope) => {
      envelope['MessageHeader'] = { ...message.header, [member]: value };
    });
    assert.equal(errorOf(protection.open(protectedReading(changed))), 'HeaderDiffers', member);
  }
  const missing = with_(text, (envelope) => {
    const { ProtocolVersion: _, ...rest } = message.header;
    envelope['MessageHeader'] = rest;
  });
  assert.equal(errorOf(protection.open(protectedReading(missing))), 'HeaderDiffers');
  const turned = { ...protectedReading(text), envelope: 'SaleToPOIResponse' as const };
  assert.equal(errorOf(protection.open(turned)), 'HeaderDiffers');
});

test('the reader ignores an unencrypted body next to the encrypted data', () => {
  const text = with_(protection.protect(message), (envelope) => {
    envelope['AdminRequest'] = { ServiceIdentification: 'smuggled' };
  });
  const opened = protection.open(protectedReading(text));
  assert.deepEqual(opened.kind === 'Message' && opened.message, message);
});

/** Protects a text that no message of ours would be. */
function sealedText(text: string): ProtectedReading {
  const reading = protectedReading(protection.protect(message));
  const nonce = randomBytes(16);
  const { blob, hmac } = encryptMessage(Buffer.from(text), deriveKeys(key.passphrase), nonce);
  const trailer = {
    ...reading.trailer,
    Nonce: nonce.toString('base64'),
    Hmac: Buffer.from(hmac).toString('base64'),
  };
  return { ...reading, blob: Buffer.from(blob).toString('base64'), trailer };
}

test('a decrypted message is read by the same rules as any message', () => {
  assert.equal(protection.open(sealedText('{"SaleToPOIRequest":1}')).kind, 'Unreadable');
  assert.equal(protection.open(sealedText('')).kind, 'Unreadable');
  const faulty = JSON.stringify({
    SaleToPOIRequest: { MessageHeader: message.header, AdminRequest: 7 },
  });
  assert.equal(protection.open(sealedText(faulty)).kind, 'Faulty');
  assert.equal(protection.open(sealedText(protection.protect(message))).kind, 'Faulty');
});

test('keys that other programs would read otherwise are refused', () => {
  const create = (...keys: [SharedKey, ...SharedKey[]]) => createProtection({ keys, randomBytes });
  for (const bad of [
    { ...key, passphrase: '' },
    { ...key, passphrase: 'Größe' },
    { ...key, passphrase: 'a'.repeat(257) },
    { ...key, identifier: '' },
    { ...key, version: -1 },
    { ...key, version: 1.5 },
  ]) {
    assert.throws(
      () => create(bad),
      (error) =>
        error instanceof NexoError && error.code === 'key_invalid' && !error.message.includes('Gr'),
    );
  }
  assert.throws(() => create(key, { ...key, passphrase: 'the same name twice' }), NexoError);
  assert.throws(() => {
    createProtection({ keys: [key], randomBytes: () => new Uint8Array(8) }).protect(message);
  }, NexoError);
  const wrong: AnyMessage = { ...message, body: { ServiceIdentification: 7 } };
  assert.throws(() => protection.protect(wrong), NexoError);
});
