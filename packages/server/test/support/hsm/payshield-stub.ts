// A stub of the payShield commands in use: it parses the fields, computes results and returns error
// codes.
import { hash } from 'node:crypto';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import {
  type PinBlockFormat,
  PinError,
  type PinKey,
  readKsn,
  retailMac,
  translatePin,
  unwrapKey,
} from '@switchyard/pin';
import { keyBytes, keyTableEntry, type TestKeyName, testKeys, toHex } from './hsm-test-keys.ts';

type StubFault = 'hang' | 'close' | 'other header' | 'garbage' | 'twice' | { error: string };

export type PayShieldStub = {
  port: number;
  /** Every received command, including its header. */
  commands: string[];
  connections(): number;
  failNext(plannedFaults: StubFault): void;
  /** Overrides the check value of a key. */
  overrideCheckValue(name: TestKeyName, checkValue: string | undefined): void;
  /** Closes the connections, as when the HSM restarts. */
  drop(): void;
  close(): Promise<void>;
};

const names = Object.keys(testKeys) as TestKeyName[];
const headerLength = 4;

/** A key under the local master key; only the stub can resolve it. */
export const keyUnderLmk = (name: TestKeyName): string =>
  `U${hash('sha256', `under the LMK: ${name}`).slice(0, 32).toUpperCase()}`;

const keyTypes = {
  KeyEncryption: '000',
  ZonePin: '001',
  TerminalPin: '002',
  Mac: '008',
  BaseDerivation: '009',
} as const;
const formats: Record<string, PinBlockFormat> = { '01': 'ISO0', '05': 'ISO1', '47': 'ISO3' };

/** The stub answers with the two digits of the message. */
class CommandError extends Error {}

/** Reads the fields of a command in turn; data after the last field is an error. */
function createFieldReader(text: string) {
  let at = 0;
  const takeField = (form: RegExp): string => {
    const field = new RegExp(`^(?:${form.source})`).exec(text.slice(at))?.[0];
    if (field === undefined) throw new CommandError('15');
    at += field.length;
    return field;
  };
  return {
    take: takeField,
    rest: () => text.slice(at),
    end() {
      if (at !== text.length) throw new CommandError('15');
    },
  };
}

const keyField = /U[0-9A-F]{32}/;

function findKey(field: string, type: string, parity: string): TestKeyName {
  const name = names.find((each) => keyUnderLmk(each) === field);
  // Under another pair of local master keys the key decrypts to a value with wrong parity.
  if (name === undefined || keyTypes[testKeys[name][0]] !== type) throw new CommandError(parity);
  return name;
}

const formatOf = (code: string): PinBlockFormat => {
  const format = formats[code];
  if (format === undefined) throw new CommandError('23');
  return format;
};

type Translation = {
  under: PinKey;
  zone: TestKeyName;
  block: string;
  from: string;
  to: string;
  digits: string;
};

/** The account number field has twelve digits, without the check digit. */
function translatePinBlock({ under, zone, block, from, to, digits }: Translation): string {
  try {
    const pinBlock = translatePin({
      block: Buffer.from(block, 'hex'),
      format: formatOf(from),
      under,
      pan: `${digits}0`,
      to: { format: formatOf(to), key: keyBytes(zone) },
    });
    return `04${toHex(pinBlock)}${to}`;
  } catch (error) {
    if (!(error instanceof PinError)) throw error;
    throw new CommandError(error.code === 'format_not_allowed' ? '23' : '20');
  }
}

function translateFromDukpt(text: string): string {
  const fields = createFieldReader(text);
  const bdk = findKey(fields.take(keyField), keyTypes.BaseDerivation, '10');
  const zone = findKey(fields.take(keyField), keyTypes.ZonePin, '11');
  const descriptor = fields.take(/[0-9A-F]{3}/);
  const sum = [...descriptor].reduce((all, digit) => all + Number.parseInt(digit, 16), 0);
  const ksn = fields.take(new RegExp(`[0-9A-F]{${sum + 5}}`)).padStart(20, 'F');
  if (readKsn(ksn).scheme !== 'DukptTdes') throw new CommandError('15');
  const block = fields.take(/[0-9A-F]{16}/);
  const from = fields.take(/\d{2}/);
  const to = fields.take(/\d{2}/);
  const digits = fields.take(/\d{12}/);
  fields.end();
  const under = { scheme: 'Dukpt', baseKey: keyBytes(bdk), ksn } as const;
  return translatePinBlock({ under, zone, block, from, to, digits });
}

function translateFromSharedKey(text: string, type: string): string {
  const fields = createFieldReader(text);
  const source = findKey(fields.take(keyField), type, '10');
  const zone = findKey(fields.take(keyField), keyTypes.ZonePin, '11');
  fields.take(/12/);
  const block = fields.take(/[0-9A-F]{16}/);
  const from = fields.take(/\d{2}/);
  const to = fields.take(/\d{2}/);
  const digits = fields.take(/\d{12}/);
  fields.end();
  const under = { scheme: 'Zone', key: keyBytes(source) } as const;
  return translatePinBlock({ under, zone, block, from, to, digits });
}

function importKey(text: string): string {
  const fields = createFieldReader(text);
  const type = fields.take(/001|008/);
  const zmk = findKey(fields.take(keyField), keyTypes.KeyEncryption, '10');
  const wrapped = fields.take(/X[0-9A-F]{32}/).slice(1);
  fields.take(/U/);
  fields.end();
  const key = unwrapKey(keyBytes(zmk), Buffer.from(wrapped, 'hex'), 'Tdes');
  const name = names.find((each) => keyBytes(each).equals(key));
  if (name === undefined || keyTypes[testKeys[name][0]] !== type) throw new CommandError('26');
  return keyUnderLmk(name) + keyTableEntry(name, '').checkValue;
}

function checkValue(text: string, checkValues: ReadonlyMap<TestKeyName, string>): string {
  const fields = createFieldReader(text);
  fields.take(/FF1/);
  const field = fields.take(keyField);
  fields.take(/;/);
  const name = findKey(field, fields.take(/[0-9A-F]{3}/), '10');
  fields.take(/;001/);
  fields.end();
  return checkValues.get(name) ?? keyTableEntry(name, '').checkValue;
}

function makeMac(text: string): string {
  const fields = createFieldReader(text);
  fields.take(/00131008/);
  const name = findKey(fields.take(keyField), keyTypes.Mac, '10');
  const length = Number.parseInt(fields.take(/[0-9A-F]{4}/), 16);
  const message = Buffer.from(fields.rest(), 'latin1');
  if (message.length !== length) throw new CommandError('15');
  return toHex(retailMac(keyBytes(name), message));
}

function runCommand(
  command: string,
  text: string,
  checkValues: ReadonlyMap<TestKeyName, string>,
): string {
  if (command === 'G0') return translateFromDukpt(text);
  if (command === 'CA') return translateFromSharedKey(text, keyTypes.TerminalPin);
  if (command === 'CC') return translateFromSharedKey(text, keyTypes.ZonePin);
  if (command === 'A6') return importKey(text);
  if (command === 'BU') return checkValue(text, checkValues);
  if (command === 'M6') return makeMac(text);
  if (command === 'NC') return `${'A'.repeat(16)}0007-E000`;
  throw new CommandError('68');
}

function encodeFrame(text: string): Buffer {
  const frame = Buffer.alloc(2 + text.length);
  frame.writeUInt16BE(text.length);
  frame.write(text, 2, 'latin1');
  return frame;
}

export async function startPayShieldStub(tls?: TlsOptions): Promise<PayShieldStub> {
  const commands: string[] = [];
  const checkValues = new Map<TestKeyName, string>();
  const sockets = new Set<Socket>();
  const plannedFaults: StubFault[] = [];
  let connections = 0;

  function answer(frame: string): string {
    const header = frame.slice(0, headerLength);
    const command = frame.slice(headerLength, headerLength + 2);
    const reply = command.slice(0, 1) + String.fromCharCode(command.charCodeAt(1) + 1);
    try {
      return `${header}${reply}00${runCommand(command, frame.slice(headerLength + 2), checkValues)}`;
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      return `${header}${reply}${error.message}`;
    }
  }

  function serve(socket: Socket, frame: string): void {
    commands.push(frame);
    const fault = plannedFaults.shift();
    if (fault === 'hang') return;
    if (fault === 'close') return void socket.destroy();
    let text = answer(frame);
    if (fault === 'other header') text = `9999${text.slice(headerLength)}`;
    if (fault === 'garbage') text = `${frame.slice(0, headerLength)}ZZ00`;
    if (typeof fault === 'object') {
      text = text.slice(0, headerLength + 2) + fault.error;
    }
    const frameBytes = encodeFrame(text);
    // The response arrives in two parts, because only its length field ends a frame.
    socket.write(frameBytes.subarray(0, 3));
    setImmediate(() => {
      socket.write(frameBytes.subarray(3));
      if (fault === 'twice') socket.write(frameBytes);
    });
  }

  function accept(socket: Socket): void {
    connections += 1;
    socket.setNoDelay(true);
    sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE()) {
        const end = 2 + received.readUInt16BE();
        serve(socket, received.toString('latin1', 2, end));
        received = received.subarray(end);
      }
    });
  }

  const server = tls === undefined ? createServer(accept) : createTlsServer(tls, accept);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    commands,
    connections: () => connections,
    failNext: (fault) => void plannedFaults.push(fault),
    overrideCheckValue(name, value) {
      if (value === undefined) checkValues.delete(name);
      else checkValues.set(name, value);
    },
    drop,
    async close() {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
