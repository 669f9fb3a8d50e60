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
import { entryOf, hex, keyBytes, type TestKeyName, testKeys } from './hsm-test-keys.ts';

export const awsRegion = 'eu-central-1';
export const awsCredentials = {
  accessKeyId: 'AKIDEXAMPLE00000',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: 'a-session/token==',
};

type Json = Record<string, unknown>;
type Asked = {
  path: string;
  target: string | undefined;
  text: string;
  headers: IncomingMessage['headers'];
};
type Disturbance = { refuse: string; status: number } | 'hang' | 'reset' | 'garbage';

export type AwsStub = {
  url: string;
  asked: Asked[];
  /** Sets the fault of the next requests, in place of a response. */
  disturb(next: Disturbance, times?: number): void;
  /** Overrides the description of a key. */
  tell(name: TestKeyName, told: Json): void;
  arn(name: TestKeyName): string;
  close(): Promise<void>;
};

const names = Object.keys(testKeys) as TestKeyName[];
const arnOf = (name: TestKeyName): string =>
  `arn:aws:payment-cryptography:${awsRegion}:111122223333:key/${name.replace(/[^a-z]/g, '').padEnd(16, 'x')}`;
const nameOf = (arn: unknown): TestKeyName => {
  const name = names.find((each) => arnOf(each) === arn);
  if (name === undefined) throw new Refused('ResourceNotFoundException');
  return name;
};

class Refused extends Error {}

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
  const [, id, day = '', region = '', service = '', list = '', signature] =
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
  const place = `${day}/${region}/${service}/aws4_request`;
  const signed = ['AWS4-HMAC-SHA256', headers['x-amz-date'], place, sha(canonical)].join('\n');
  const keys = [day, region, service, 'aws4_request'];
  const key = keys.reduce<string | Buffer>(mac, `AWS4${awsCredentials.secretAccessKey}`);
  const wanted = ['content-type', 'host', 'x-amz-date', 'x-amz-security-token'];
  const isGood =
    id === awsCredentials.accessKeyId &&
    region === awsRegion &&
    service === 'payment-cryptography' &&
    wanted.every((name) => list.split(';').includes(name)) &&
    mac(key, signed).toString('hex') === signature;
  if (!isGood) throw new Refused('InvalidSignatureException');
}

function demandMembers(value: unknown, ...members: string[]): Json {
  const keys = Object.keys(value as Json).sort();
  if (keys.join() !== members.sort().join()) throw new Refused('ValidationException');
  return value as Json;
}

function isoFormat(value: unknown): { format: PinBlockFormat; pan: string | undefined } {
  const [name = ''] = Object.keys(value as Json);
  const format = name.replace('IsoFormat', 'ISO') as PinBlockFormat;
  const attributes = (value as Json)[name] as Json;
  if (format === 'ISO1') return { format, pan: demandMembers(attributes) && undefined };
  const pan = demandMembers(attributes, 'PrimaryAccountNumber')['PrimaryAccountNumber'];
  return { format, pan: String(pan) };
}

/** The service puts the block into its error message, which reveals a client that logs it. */
const badBlock = (block: unknown) =>
  new Refused(`ValidationException|PIN block ${block} is invalid`);

const algorithms = {
  TDES_2KEY: 'tdes2',
  TDES_3KEY: 'tdes3',
  AES_128: 'aes128',
  AES_192: 'aes192',
  AES_256: 'aes256',
} as const;

function algorithmOf({ DukptKeyDerivationType: type }: Json) {
  const algorithm = algorithms[type as keyof typeof algorithms];
  if (algorithm === undefined) throw new Refused('ValidationException');
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
  demandMembers(body, ...members, ...(isDukpt ? ['IncomingDukptAttributes'] : []));
  const incoming = isoFormat(body['IncomingTranslationAttributes']);
  const outgoing = isoFormat(body['OutgoingTranslationAttributes']);
  const key = keyBytes(nameOf(body['IncomingKeyIdentifier']));
  const pan = incoming.pan ?? outgoing.pan ?? '';
  if (outgoing.pan !== pan) throw new Refused('ValidationException');
  let under: Parameters<typeof translatePin>[0]['under'] = { scheme: 'Zone', key };
  if (isDukpt) {
    const dukpt = body['IncomingDukptAttributes'];
    const given = demandMembers(dukpt, 'KeySerialNumber', 'DukptKeyDerivationType');
    const ksn = String(given['KeySerialNumber']);
    under = { scheme: 'Dukpt', baseKey: key, ksn, algorithm: algorithmOf(given) };
  }
  try {
    const sealed = translatePin({
      block: Buffer.from(String(body['EncryptedPinBlock']), 'hex'),
      format: incoming.format,
      under,
      pan,
      to: { format: outgoing.format, key: keyBytes(nameOf(body['OutgoingKeyIdentifier'])) },
      format4Pan: 'TwelveDigits',
    });
    return {
      PinBlock: hex(sealed),
      KeyArn: body['OutgoingKeyIdentifier'],
      KeyCheckValue: '000000',
    };
  } catch (error) {
    if (error instanceof PinError) throw badBlock(body['EncryptedPinBlock']);
    throw error;
  }
}

function decrypt(path: string, body: Json): Json {
  const name = nameOf(decodeURIComponent(path.split('/')[2] ?? ''));
  demandMembers(body, 'CipherText', 'DecryptionAttributes');
  const attributes = demandMembers(body['DecryptionAttributes'], 'Dukpt')['Dukpt'];
  const dukpt = demandMembers(
    attributes,
    'KeySerialNumber',
    'Mode',
    'DukptKeyDerivationType',
    'DukptKeyVariant',
    'InitializationVector',
  );
  const zeros = /^(?:0{16}|0{32})$/.test(String(dukpt['InitializationVector']));
  if (dukpt['Mode'] !== 'CBC' || dukpt['DukptKeyVariant'] !== 'REQUEST' || !zeros) {
    throw new Refused('ValidationException');
  }
  const ksn = String(dukpt['KeySerialNumber']);
  const data = Buffer.from(String(body['CipherText']), 'hex');
  const algorithm = algorithmOf(dukpt);
  return { PlainText: hex(decryptDukptData({ baseKey: keyBytes(name), ksn, algorithm, data })) };
}

function makeMac(body: Json): Json {
  demandMembers(body, 'KeyIdentifier', 'MessageData', 'GenerationAttributes', 'MacLength');
  const attributes = demandMembers(body['GenerationAttributes'], 'Algorithm');
  const key = keyBytes(nameOf(body['KeyIdentifier']));
  const data = Buffer.from(String(body['MessageData']), 'hex');
  if (attributes['Algorithm'] === 'CMAC') return { Mac: hex(aesCmac(key, data)) };
  if (attributes['Algorithm'] !== 'ISO9797_ALGORITHM3' || data.length % 8 !== 0) {
    throw new Refused('ValidationException');
  }
  return { Mac: hex(retailMac(key, data)) };
}

function facts(name: TestKeyName): Json {
  const [usage, algorithm] = testKeys[name];
  return {
    KeyArn: arnOf(name),
    KeyAttributes: {
      KeyUsage: usages[usage],
      KeyAlgorithm: algorithm === 'Aes' ? `AES_${keyBytes(name).length * 8}` : 'TDES_2KEY',
      KeyClass: 'SYMMETRIC_KEY',
    },
    KeyCheckValue: entryOf(name, '').checkValue,
    Enabled: true,
    KeyState: 'CREATE_COMPLETE',
  };
}

/** A key block that contains the name of its key in place of the key. */
export const tr31Of = (name: TestKeyName): string =>
  `D0112P0TE00N0000${hex(Buffer.from(name)).padEnd(96, '0')}`;

function control(
  target: string | undefined,
  body: Json,
  told: ReadonlyMap<TestKeyName, Json>,
): Json {
  if (target === 'PaymentCryptographyControlPlane.GetKey') {
    const name = nameOf(demandMembers(body, 'KeyIdentifier')['KeyIdentifier']);
    return { Key: { ...facts(name), ...told.get(name) } };
  }
  if (target !== 'PaymentCryptographyControlPlane.ImportKey') throw new Refused('UnknownOperation');
  const material = demandMembers(body, 'KeyMaterial', 'KeyCheckValueAlgorithm')['KeyMaterial'];
  const block = demandMembers(material, 'Tr31KeyBlock')['Tr31KeyBlock'];
  const given = demandMembers(block, 'WrappedKeyBlock', 'WrappingKeyIdentifier');
  if (nameOf(given['WrappingKeyIdentifier']) !== 'zmk') throw new Refused('ValidationException');
  const name = names.find((each) => tr31Of(each) === given['WrappedKeyBlock']);
  if (name === undefined) throw new Refused('ValidationException');
  return { Key: facts(name) };
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Serves both planes at one address, because their requests differ. */
export async function startAwsStub(): Promise<AwsStub> {
  const asked: Asked[] = [];
  const told = new Map<TestKeyName, Json>();
  const next: Disturbance[] = [];

  function answer(request: IncomingMessage, text: string): Json {
    verify(request, text);
    const { url = '', headers } = request;
    const body = JSON.parse(text) as Json;
    const target = headers['x-amz-target'];
    if (url === '/') {
      if (headers['content-type'] !== 'application/x-amz-json-1.0')
        throw new Refused('Serialization');
      return control(typeof target === 'string' ? target : undefined, body, told);
    }
    if (headers['content-type'] !== 'application/json') throw new Refused('Serialization');
    if (url === '/pindata/translate') return translate(body);
    if (url === '/mac/generate') return makeMac(body);
    if (/^\/keys\/[^/]+\/decrypt$/.test(url)) return decrypt(url, body);
    throw new Refused('UnknownOperationException');
  }

  function refuse(response: ServerResponse, refusal: string, status: number): void {
    const [type = '', message = 'no'] = refusal.split('|');
    response.writeHead(status, { 'x-amzn-errortype': `${type}:http://internal/` });
    response.end(JSON.stringify({ message }));
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await read(request);
    const { url = '', headers } = request;
    const target = headers['x-amz-target'];
    asked.push({
      path: url,
      target: typeof target === 'string' ? target : undefined,
      text,
      headers,
    });
    const disturbance = next.shift();
    if (disturbance === 'hang') return;
    if (disturbance === 'reset') return void request.socket.destroy();
    if (disturbance === 'garbage') return void response.end('{"PinBlock":');
    if (disturbance !== undefined) return refuse(response, disturbance.refuse, disturbance.status);
    try {
      response.end(JSON.stringify(answer(request, text)));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refuse(response, error.message, 400);
    }
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    disturb(disturbance, times = 1) {
      next.push(...Array<Disturbance>(times).fill(disturbance));
    },
    tell: (name, value) => void told.set(name, value),
    arn: arnOf,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
