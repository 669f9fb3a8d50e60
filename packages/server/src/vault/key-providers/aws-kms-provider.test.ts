import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { defined } from '@switchyard/contract';
import { signAwsRequest, systemClock, systemIdGenerator } from '../../platform/index.ts';
import { createAwsKmsProvider } from './aws-kms-provider.ts';
import { type KeyIdentity, KeyProviderError } from './key-provider.ts';

const keyArn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const credentials = {
  accessKeyId: 'AKIDEXAMPLEEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'session-1',
};

type Body = {
  KeyId: string;
  Plaintext?: string;
  CiphertextBlob?: string;
  EncryptionContext: Record<string, string>;
};

/** Acts as KMS: it has its own key and uses the context as additional authenticated data. */
function kmsStub() {
  const key = randomBytes(32);
  const requests: { action: string; body: Body }[] = [];
  /** Answers for the next requests, in place of the correct ones. */
  const instead: ({ status: number; type: string } | 'silence')[] = [];

  function encrypted({ KeyId, Plaintext = '', EncryptionContext }: Body): string {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, iv);
    cipher.setAAD(Buffer.from(KeyId + JSON.stringify(EncryptionContext)));
    const text = Buffer.concat([cipher.update(Plaintext, 'base64'), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64');
  }

  function decrypted({ KeyId, CiphertextBlob = '', EncryptionContext }: Body): string {
    const bytes = Buffer.from(CiphertextBlob, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
    decipher.setAAD(Buffer.from(KeyId + JSON.stringify(EncryptionContext)));
    decipher.setAuthTag(bytes.subarray(12, 28));
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString(
      'base64',
    );
  }

  /** Whether the caller signed exactly these bytes and headers with the secret. */
  async function isSigned(
    { headers }: IncomingMessage,
    text: string,
    url: string,
  ): Promise<boolean> {
    const sentAt = String(headers['x-amz-date']);
    const [, year, month, day, hour, minute, second] =
      /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(sentAt) ?? [];
    const now = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
    const { authorization } = await signAwsRequest(
      {
        method: 'POST',
        url: new URL(url),
        headers: {
          'content-type': String(headers['content-type']),
          'x-amz-target': String(headers['x-amz-target']),
        },
        body: text,
      },
      { service: 'kms', region: 'eu-central-1', credentials, now },
    );
    return headers.authorization === authorization;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const respond = (status: number, body: object) =>
      response
        .writeHead(status, { 'content-type': 'application/x-amz-json-1.1' })
        .end(JSON.stringify(body));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    if (!(await isSigned(request, text, url))) {
      respond(400, { __type: 'InvalidSignatureException' });
      return;
    }
    const action = String(request.headers['x-amz-target']).replace('TrentService.', '');
    const body = JSON.parse(text) as Body;
    requests.push({ action, body });
    const other = instead.shift();
    if (other === 'silence') return;
    if (other !== undefined) {
      respond(other.status, { __type: other.type });
      return;
    }
    try {
      const done =
        action === 'Encrypt' ? { CiphertextBlob: encrypted(body) } : { Plaintext: decrypted(body) };
      respond(200, { ...done, KeyId: body.KeyId });
    } catch {
      respond(400, { __type: 'InvalidCiphertextException' });
    }
  }

  const server: Server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  return { server, requests, instead };
}

describe('AWS KMS as the key provider', () => {
  const stub = kmsStub();
  let url = '';
  const identity: KeyIdentity = {
    organizationId: systemIdGenerator.uuid(),
    keyId: systemIdGenerator.uuid(),
    purpose: 'Data',
  };
  const open = (options: { timeoutMs?: number; secret?: string } = {}) =>
    createAwsKmsProvider({
      keyArn,
      url,
      clock: systemClock,
      timeoutMs: options.timeoutMs ?? 20_000,
      credentials: {
        ...credentials,
        ...defined({ secretAccessKey: options.secret }),
      },
    });
  const isFault = (code: KeyProviderError['code']) => (error: unknown) =>
    error instanceof KeyProviderError && error.code === code;

  before(async () => {
    await new Promise<void>((resolve) => stub.server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(stub.server.address() as AddressInfo).port}`;
  });
  after(async () => {
    stub.server.closeAllConnections();
    await new Promise((resolve) => stub.server.close(resolve));
  });
  beforeEach(() => {
    stub.requests.length = 0;
    stub.instead.length = 0;
  });

  // Spec: ACQ-15
  test('wraps a key for its place, and unwraps it there alone', async () => {
    const provider = open();
    const key = randomBytes(32);
    const wrapped = await provider.wrap(key, identity);
    assert.equal(wrapped.wrappedBy, `aws-kms:${keyArn}`);
    assert.ok(provider.canUnwrap(wrapped.wrappedBy));
    assert.equal(wrapped.bytes.includes(key), false);
    assert.deepEqual(await provider.unwrap(wrapped, identity), key);
    assert.deepEqual(
      stub.requests.map(({ action }) => action),
      ['Encrypt', 'Decrypt'],
    );
    const { KeyId, EncryptionContext } = stub.requests[1]?.body ?? ({} as Body);
    assert.equal(KeyId, keyArn);
    assert.deepEqual(EncryptionContext, { switchyard: 'vault-key', ...identity });
    const elsewhere = { ...identity, organizationId: systemIdGenerator.uuid() };
    await assert.rejects(provider.unwrap(wrapped, elsewhere), isFault('Refused'));
    await provider.close();
  });

  test('tries again where KMS is busy, and not where it refuses', async () => {
    const provider = open();
    stub.instead.push(
      { status: 400, type: 'com.amazonaws.kms#ThrottlingException' },
      { status: 500, type: 'KMSInternalException' },
    );
    const wrapped = await provider.wrap(randomBytes(32), identity);
    assert.equal(stub.requests.length, 3);
    stub.instead.push({ status: 400, type: 'AccessDeniedException' });
    await assert.rejects(provider.unwrap(wrapped, identity), isFault('Refused'));
    assert.equal(stub.requests.length, 4);
    const busy = { status: 400, type: 'ThrottlingException' };
    stub.instead.push(busy, busy, busy);
    await assert.rejects(provider.unwrap(wrapped, identity), isFault('Unavailable'));
    await provider.close();
  });

  test('fails after its timeout, and its error contains no secret', async () => {
    const provider = open({ timeoutMs: 100 });
    stub.instead.push('silence', 'silence', 'silence');
    await assert.rejects(provider.wrap(randomBytes(32), identity), isFault('Unavailable'));
    await provider.close();
    const wrongSecretProvider = open({ secret: 'wrongwrongwrongwrong' });
    await assert.rejects(wrongSecretProvider.wrap(randomBytes(32), identity), (error) => {
      assert.ok(isFault('Refused')(error));
      assert.doesNotMatch(String(error), /wrong/);
      return true;
    });
    await wrongSecretProvider.close();
  });
});
