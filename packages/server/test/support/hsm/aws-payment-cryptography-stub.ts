// A stub of the AWS Payment Cryptography calls in use: it checks signature and members, and
// computes results.
import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import {
  aesCmac,
  decryptDukptData,
  type PinBlockFormat,
  PinError,
  retailMac,
  translatePin,
} from '@switchyard/pin';
import { keyBytes, keyTableEntry, type TestKeyName, testKeys, toHex } from './hsm-test-keys.ts';

export const awsRegion = 'eu-central-1';
export const awsCredentials = {
  accessKeyId: 'AKIDEXAMPLE00000',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'a-session/token==',
};

type Json = Record<string, unknown>;
type ReceivedRequest = {
  path: string;
  target: string | undefined;
  text: string;
  headers: IncomingMessage['headers'];
};
type StubFault = { errorType: string; status: number } | 'hang' | 'reset' | 'garbage';

export type AwsStub = {
  url: string;
  requests: ReceivedRequest[];
  /** Sets the fault of the next requests, in place of a response. */
  failNext(plannedFaults: StubFault, times?: number): void;
  /** Overrides the description of a key. */
  overrideKey(name: TestKeyName, overriddenKeys: Json): void;
  arn(name: TestKeyName): string;
  close(): Promise<void>;
};

const names = Object.keys(testKeys) as TestKeyName[];
const arnOf = (name: TestKeyName): string =>
  `arn:aws:payment-cryptography:${awsRegion}:111122223333:key/${name.replace(/[^a-z]/g, '').padEnd(16, 'x')}`;
const nameOf = (arn: unknown): TestKeyName => {
  const name = names.find((each) => arnOf(each) === arn);
  if (name === undefined) throw new StubError('ResourceNotFoundException');
  return name;
};

class StubError extends Error {}

const usages = {
  BaseDerivation: 'TR31_B0_BASE_DERIVATION_KEY',
  KeyEncryption: 'TR31_K0_KEY_ENCRYPTION_KEY',
  TerminalPin: 'TR31_P0_PIN_ENCRYPTION_KEY',
  ZonePin: 'TR31_P0_PIN_ENCRYPTION_KEY',
  Mac: 'TR31_M3_ISO_9797_3_MAC_KEY',
} as const;

/** Recomputes the signature (AWS Signature Version 4) from the received request. */
function verify({ headers, method, url = '' }: IncomingMessage, text: string): void {
  const form =
    /^AWS4-HMAC-SHA256 Credential=(\w+)\/(\d{8})\/([\w-]+)\/([\w-]+)\/aws4_request, SignedHeaders=([\w;-]+), Signature=([0-9a-f]{64})$/;
  const [, accessKeyId, day = '', region = '', service = '', list = '', signature] =
    form.exec(headers.authorization ?? '') ?? [];
  const sha = (data: string) => createHash('sha256').update(data).digest('hex');
  const mac = (key: string | Buffer, data: string) =>
    createHmac('sha256', key).update(data).digest();
  const path = url
    .split('/')
    .map((part) => part.replaceAll('%', '%25'))
    .join('/');
  const lines = list.split(';').map((name) => `${name}:${headers[name]}\n`);
  const canonical = [method, path, '', lines.join(''), list, sha(text)].join('\n');
  const credentialScope = `${day}/${region}/${service}/aws4_request`;
  const signed = ['AWS4-HMAC-SHA256', headers['x-amz-date'], credentialScope, sha(canonical)].join(
    '\n',
  );
  const keys = [day, region, service, 'aws4_request'];
  const key = keys.reduce<string | Buffer>(mac, `AWS4${awsCredentials.secretAccessKey}`);
  const requiredHeaders = ['content-type', 'host', 'x-amz-date', 'x-amz-security-token'];
  const isValid =
    accessKeyId === awsCredentials.accessKeyId &&
    region === awsRegion &&
    service === 'payment-cryptography' &&
    requiredHeaders.every((name) => list.split(';').includes(name)) &&
    mac(key, signed).toString('hex') === signature;
  if (!isValid) throw new StubError('InvalidSignatureException');
}

function requireMembers(value: unknown, ...members: string[]): Json {
  const keys = Object.keys(value as Json).sort();
  if (keys.join() !== members.sort().join()) throw new StubError('ValidationException');
  return value as Json;
}

function isoFormat(value: unknown): { format: PinBlockFormat; pan: string | undefined } {
  const [name = ''] = Object.keys(value as Json);
  const format = name.replace('IsoFormat', 'ISO') as PinBlockFormat;
  const attributes = (value as Json)[name] as Json;
  if (format === 'ISO1') return { format, pan: requireMembers(attributes) && undefined };
  const pan = requireMembers(attributes, 'PrimaryAccountNumber')['PrimaryAccountNumber'];
  return { format, pan: String(pan) };
}

/** The service puts the block into its error message, which reveals a client that logs it. */
const pinBlockError = (block: unknown) =>
  new StubError(`ValidationException|PIN block ${block} is invalid`);

const algorithms = {
  TDES_2KEY: 'tdes2',
  TDES_3KEY: 'tdes3',
  AES_128: 'aes128',
  AES_192: 'aes192',
  AES_256: 'aes256',
} as const;

function algorithmOf({ DukptKeyDerivationType: type }: Json) {
  const algorithm = algorithms[type as keyof typeof algorithms];
  if (algorithm === undefined) throw new StubError('ValidationException');
  return algorithm;
}

function translate(body: Json): Json {
  const isDukpt = 'IncomingDukptAttributes' in body;
  const members = [
    'EncryptedPinBlock',
    'IncomingKeyIdentifier',
    'OutgoingKeyIdentifier',
    'IncomingTranslationAttributes',
    'OutgoingTranslationAttributes',
  ];
  requireMembers(body, ...members, ...(isDukpt ? ['IncomingDukptAttributes'] : []));
  const incoming = isoFormat(body['IncomingTranslationAttributes']);
  const outgoing = isoFormat(body['OutgoingTranslationAttributes']);
  const key = keyBytes(nameOf(body['IncomingKeyIdentifier']));
  const pan = incoming.pan ?? outgoing.pan ?? '';
  if (outgoing.pan !== pan) throw new StubError('ValidationException');
  let pinKey: Parameters<typeof translatePin>[0]['under'] = { scheme: 'Zone', key };
  if (isDukpt) {
    const dukpt = body['IncomingDukptAttributes'];
    const attributes = requireMembers(dukpt, 'KeySerialNumber', 'DukptKeyDerivationType');
    const ksn = String(attributes['KeySerialNumber']);
    pinKey = { scheme: 'Dukpt', baseKey: key, ksn, algorithm: algorithmOf(attributes) };
  }
  try {
    const pinBlock = translatePin({
      block: Buffer.from(String(body['EncryptedPinBlock']), 'hex'),
      format: incoming.format,
      under: pinKey,
      pan,
      to: { format: outgoing.format, key: keyBytes(nameOf(body['OutgoingKeyIdentifier'])) },
      format4Pan: 'TwelveDigits',
    });
    return {
      PinBlock: toHex(pinBlock),
      KeyArn: body['OutgoingKeyIdentifier'],
      KeyCheckValue: '000000',
    };
  } catch (error) {
    if (error instanceof PinError) throw pinBlockError(body['EncryptedPinBlock']);
    throw error;
  }
}

function decrypt(path: string, body: Json): Json {
  const name = nameOf(decodeURIComponent(path.split('/')[2] ?? ''));
  requireMembers(body, 'CipherText', 'DecryptionAttributes');
  const attributes = requireMembers(body['DecryptionAttributes'], 'Dukpt')['Dukpt'];
  const dukpt = requireMembers(
    attributes,
    'KeySerialNumber',
    'Mode',
    'DukptKeyDerivationType',
    'DukptKeyVariant',
    'InitializationVector',
  );
  const zeros = /^(?:0{16}|0{32})$/.test(String(dukpt['InitializationVector']));
  if (dukpt['Mode'] !== 'CBC' || dukpt['DukptKeyVariant'] !== 'REQUEST' || !zeros) {
    throw new StubError('ValidationException');
  }
  const ksn = String(dukpt['KeySerialNumber']);
  const data = Buffer.from(String(body['CipherText']), 'hex');
  const algorithm = algorithmOf(dukpt);
  return { PlainText: toHex(decryptDukptData({ baseKey: keyBytes(name), ksn, algorithm, data })) };
}

function makeMac(body: Json): Json {
  requireMembers(body, 'KeyIdentifier', 'MessageData', 'GenerationAttributes', 'MacLength');
  const attributes = requireMembers(body['GenerationAttributes'], 'Algorithm');
  const key = keyBytes(nameOf(body['KeyIdentifier']));
  const data = Buffer.from(String(body['MessageData']), 'hex');
  if (attributes['Algorithm'] === 'CMAC') return { Mac: toHex(aesCmac(key, data)) };
  if (attributes['Algorithm'] !== 'ISO9797_ALGORITHM3' || data.length % 8 !== 0) {
    throw new StubError('ValidationException');
  }
  return { Mac: toHex(retailMac(key, data)) };
}

function keyDescription(name: TestKeyName): Json {
  const [usage, algorithm] = testKeys[name];
  return {
    KeyArn: arnOf(name),
    KeyAttributes: {
      KeyUsage: usages[usage],
      KeyAlgorithm: algorithm === 'Aes' ? `AES_${keyBytes(name).length * 8}` : 'TDES_2KEY',
      KeyClass: 'SYMMETRIC_KEY',
    },
    KeyCheckValue: keyTableEntry(name, '').checkValue,
    Enabled: true,
    KeyState: 'CREATE_COMPLETE',
  };
}

/** A key block that contains the name of its key in place of the key. */
export const tr31KeyBlock = (name: TestKeyName): string =>
  `D0112P0TE00N0000${toHex(Buffer.from(name)).padEnd(96, '0')}`;

function controlPlane(
  target: string | undefined,
  body: Json,
  overriddenKeys: ReadonlyMap<TestKeyName, Json>,
): Json {
  if (target === 'PaymentCryptographyControlPlane.GetKey') {
    const name = nameOf(requireMembers(body, 'KeyIdentifier')['KeyIdentifier']);
    return { Key: { ...keyDescription(name), ...overriddenKeys.get(name) } };
  }
  if (target !== 'PaymentCryptographyControlPlane.ImportKey')
    throw new StubError('UnknownOperation');
  const material = requireMembers(body, 'KeyMaterial', 'KeyCheckValueAlgorithm')['KeyMaterial'];
  const block = requireMembers(material, 'Tr31KeyBlock')['Tr31KeyBlock'];
  const attributes = requireMembers(block, 'WrappedKeyBlock', 'WrappingKeyIdentifier');
  if (nameOf(attributes['WrappingKeyIdentifier']) !== 'zmk')
    throw new StubError('ValidationException');
  const name = names.find((each) => tr31KeyBlock(each) === attributes['WrappedKeyBlock']);
  if (name === undefined) throw new StubError('ValidationException');
  return { Key: keyDescription(name) };
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Serves both planes at one address, because their requests differ. */
export async function startAwsStub(): Promise<AwsStub> {
  const requests: ReceivedRequest[] = [];
  const overriddenKeys = new Map<TestKeyName, Json>();
  const plannedFaults: StubFault[] = [];

  function answer(request: IncomingMessage, text: string): Json {
    verify(request, text);
    const { url = '', headers } = request;
    const body = JSON.parse(text) as Json;
    const target = headers['x-amz-target'];
    if (url === '/') {
      if (headers['content-type'] !== 'application/x-amz-json-1.0')
        throw new StubError('Serialization');
      return controlPlane(typeof target === 'string' ? target : undefined, body, overriddenKeys);
    }
    if (headers['content-type'] !== 'application/json') throw new StubError('Serialization');
    if (url === '/pindata/translate') return translate(body);
    if (url === '/mac/generate') return makeMac(body);
    if (/^\/keys\/[^/]+\/decrypt$/.test(url)) return decrypt(url, body);
    throw new StubError('UnknownOperationException');
  }

  function sendError(response: ServerResponse, errorType: string, status: number): void {
    const [type = '', message = 'no'] = errorType.split('|');
    response.writeHead(status, { 'x-amzn-errortype': `${type}:http://internal/` });
    response.end(JSON.stringify({ message }));
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await read(request);
    const { url = '', headers } = request;
    const target = headers['x-amz-target'];
    requests.push({
      path: url,
      target: typeof target === 'string' ? target : undefined,
      text,
      headers,
    });
    const fault = plannedFaults.shift();
    if (fault === 'hang') return;
    if (fault === 'reset') return void request.socket.destroy();
    if (fault === 'garbage') return void response.end('{"PinBlock":');
    if (fault !== undefined) return sendError(response, fault.errorType, fault.status);
    try {
      response.end(JSON.stringify(answer(request, text)));
    } catch (error) {
      if (!(error instanceof StubError)) throw error;
      sendError(response, error.message, 400);
    }
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    failNext(fault, times = 1) {
      plannedFaults.push(...Array<StubFault>(times).fill(fault));
    },
    overrideKey: (name, value) => void overriddenKeys.set(name, value),
    arn: arnOf,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
