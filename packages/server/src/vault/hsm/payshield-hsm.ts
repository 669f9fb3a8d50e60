// Uses a Thales payShield as the HSM, by the host commands G0, CA, CC, A6, BU, M6 and NC.
import type { Log } from '../../platform/index.ts';
import {
  HsmError,
  type HsmErrorCode,
  type KeyFacts,
  type KeyUsage,
  type PinFormat,
  type StartableHsm,
} from './hsm-types.ts';
import { type KeyEntry, type KeyTable, mayUseKey } from './key-table.ts';
import type { PayShieldConnections } from './payshield-connections.ts';
import {
  findDecryptionKey,
  getTwelveAccountDigits,
  parseHex,
  requireCheckValue,
  requireKey,
  requireValidTranslation,
} from './validate-hsm-request.ts';
import { createKeyVerifier } from './verify-check-values.ts';

export type PayShieldHsmDeps = {
  readonly table: KeyTable;
  readonly log: Log;
  readonly connections: PayShieldConnections;
};

/** Format codes of the host manual; 48 is format 4 and needs a longer account number field. */
const formatCodes: Readonly<Partial<Record<PinFormat, string>>> = { 0: '01', 1: '05', 3: '47' };
const maximumPinLength = '12';
/** Ten digits of key set, five of device and five of counter: twenty in all. */
const standardDescriptor = 'A05';
const counterDigits = 5;
const messageMaxBytes = 0x1000;

/**
 * The pair of local master keys that encrypts each key type; the HSM refuses a key under another
 * pair.
 */
const keyTypes: Readonly<Record<KeyUsage, string>> = {
  KeyEncryption: '000',
  ZonePin: '001',
  TerminalPin: '002',
  Mac: '008',
  BaseDerivation: '009',
};

/** The error codes of a reply; any other code means that the HSM did not do the work. */
const errors: Readonly<Record<string, HsmErrorCode>> = {
  '10': 'KeyUsage',
  '11': 'KeyUsage',
  '12': 'KeyNotFound',
  '15': 'DataInvalid',
  '20': 'PinBlockInvalid',
  '21': 'KeyNotFound',
  '22': 'PanMismatch',
  '23': 'FormatNotAllowed',
  '24': 'PinBlockInvalid',
  '26': 'KeyUsage',
  '27': 'KeyUsage',
  '68': 'Unsupported',
};

/** A key under a variant (`U` double, `T` triple length) or a key block (`S`) local master key. */
const keyPattern = /^(?:U[0-9A-F]{32}|T[0-9A-F]{48}|S[0-9A-Z]{16,2000})$/;
const referencePattern = /^payshield:(ZonePin|Mac)\.(U[0-9A-F]{32}|T[0-9A-F]{48})$/;
const lengthFlags: Readonly<Record<string, string>> = { U: '1', T: '2', S: 'F' };
const checkValuePattern = /^[0-9A-F]{6}$/;

/** Returns the reply after its error code: `CB` is the reply to `CA`, and `00` is no error. */
function parseReply(reply: Buffer, command: string, warnings: readonly string[] = []): string {
  const text = reply.toString('latin1');
  const expectedCode = command.slice(0, 1) + String.fromCharCode(command.charCodeAt(1) + 1);
  if (text.slice(0, 2) !== expectedCode) throw new HsmError('HsmUnavailable', 'an unknown reply');
  const error = text.slice(2, 4);
  if (error === '00' || warnings.includes(error)) return text.slice(4);
  throw new HsmError(errors[error] ?? 'HsmUnavailable', `${command} answered ${error}`);
}

const requirePattern = (text: string, form: RegExp): string => {
  if (form.test(text)) return text;
  throw new HsmError('HsmUnavailable', 'a reply with an unexpected format');
};

function requireFormatCode(format: PinFormat): string {
  const code = formatCodes[format];
  if (code === undefined) throw new HsmError('Unsupported', 'format 4');
  return code;
}

/** Takes the digits that the descriptor counts from the right; the rest must be `F`. */
function toKsnField(ksn: string, descriptor: string): string {
  const digits = [...descriptor].reduce((sum, digit) => sum + Number.parseInt(digit, 16), 0);
  const length = digits + counterDigits;
  const field = ksn.slice(-length);
  const rest = ksn.slice(0, ksn.length - field.length);
  if (field.length !== length || /[^F]/.test(rest)) {
    throw new HsmError('KsnInvalid', 'its descriptor does not fit');
  }
  return field;
}

type FoundKey = { readonly reference: string; readonly usage: KeyUsage; readonly entry?: KeyEntry };

/** @example const hsm = createPayShieldHsm({ table, log, connections }); */
export function createPayShieldHsm({ table, log, connections }: PayShieldHsmDeps): StartableHsm {
  const send = (text: string): Promise<Buffer> => connections.send(Buffer.from(text, 'latin1'));

  async function fetchKeyFacts({ reference, usage }: FoundKey): Promise<KeyFacts> {
    if (!keyPattern.test(reference)) throw new HsmError('KeyNotFound', 'its reference is no key');
    const type = reference.startsWith('S') ? 'FFF' : keyTypes[usage];
    const flag = lengthFlags[reference.slice(0, 1)] ?? '';
    // FF: the key type follows the key; 001: a check value of six digits.
    const body = parseReply(await send(`BUFF${flag}${reference};${type};001`), 'BU');
    return {
      checkValue: requirePattern(body.slice(0, 6), checkValuePattern),
      usage,
      algorithm: 'Tdes',
    };
  }

  const keys = createKeyVerifier({ table, log, fetchKeyFacts });

  function findKey(ref: string): FoundKey {
    const [, usage, reference] = referencePattern.exec(ref) ?? [];
    if (reference !== undefined) return { reference, usage: usage === 'Mac' ? 'Mac' : 'ZonePin' };
    const entry = table.findByName(ref);
    if (entry === undefined) throw new HsmError('KeyNotFound');
    return { reference: entry.reference, usage: entry.usage, entry };
  }

  async function resolve(ref: string, usage: KeyUsage): Promise<string> {
    const resolvedKey = findKey(ref);
    if (resolvedKey.usage !== usage) throw new HsmError('KeyUsage');
    if (resolvedKey.entry !== undefined) await keys.requireVerified(resolvedKey.entry);
    return resolvedKey.reference;
  }

  return {
    start: keys.start,
    async translatePin(request) {
      const { scheme, inFormat, outFormat, pan } = request;
      if (scheme === 'DukptAes') throw new HsmError('Unsupported', 'AES');
      const { entry, ksn = '' } = findDecryptionKey(table, request);
      await keys.requireVerified(entry);
      const zone = await resolve(request.outKeyRef, 'ZonePin');
      const formats = requireFormatCode(inFormat) + requireFormatCode(outFormat);
      const block = requireValidTranslation(request, entry, { algorithm: 'Tdes' });
      const hex = block.toString('hex').toUpperCase();
      const account = getTwelveAccountDigits(pan);
      const { ksnDescriptor = standardDescriptor } = entry;
      const command = { DukptTdes: 'G0', TerminalKey: 'CA', ZoneKey: 'CC' }[scheme];
      const middle =
        scheme === 'DukptTdes' ? ksnDescriptor + toKsnField(ksn, ksnDescriptor) : maximumPinLength;
      const text = command + entry.reference + zone + middle + hex + formats + account;
      const body = parseReply(await send(text), command);
      // The reply starts with the PIN length, which the adapter discards.
      const [, pinBlock = ''] = /^\d{2}([0-9A-F]{16})/.exec(body) ?? [];
      const answeredFormat = body.slice(18, 20);
      if (pinBlock === '' || answeredFormat !== formatCodes[outFormat]) {
        throw new HsmError('HsmUnavailable', 'a reply with an unexpected format');
      }
      return { pinBlock, outFormat };
    },
    async decryptData() {
      // M2 can derive from a base key, but the public manual does not name the key variant.
      throw new HsmError('Unsupported', 'data of devices');
    },
    async mac({ keyRef, algorithm, data }) {
      if (algorithm !== 'Iso9797Alg3') throw new HsmError('Unsupported', 'CMAC');
      if (data.length > messageMaxBytes) throw new HsmError('DataInvalid');
      const key = await resolve(keyRef, 'Mac');
      const type = key.startsWith('S') ? 'FFF' : keyTypes.Mac;
      const length = data.length.toString(16).toUpperCase().padStart(4, '0');
      // One block, binary, sixteen digits, MAC algorithm 3, padding method 1.
      const head = Buffer.from(`M600131${type}${key}${length}`, 'latin1');
      const body = parseReply(await connections.send(Buffer.concat([head, data])), 'M6');
      return Buffer.from(requirePattern(body.slice(0, 16), /^[0-9A-F]{16}$/), 'hex');
    },
    async importKey({ wrappingKeyRef, wrapped, checkValue, usage, algorithm }) {
      if (algorithm !== 'Tdes') throw new HsmError('Unsupported', 'AES');
      const entry = requireKey(table, wrappingKeyRef, 'KeyEncryption');
      await keys.requireVerified(entry);
      const bytes = parseHex(wrapped, 'DataInvalid');
      if (bytes.length !== 16 && bytes.length !== 24) throw new HsmError('DataInvalid');
      const double = bytes.length === 16;
      const hex = (double ? 'X' : 'Y') + bytes.toString('hex').toUpperCase();
      const scheme = double ? 'U' : 'T';
      const text = `A6${keyTypes[usage]}${entry.reference}${hex}${scheme}`;
      // 01 is a warning: the HSM has corrected the parity.
      const body = parseReply(await send(text), 'A6', ['01']);
      const reference = requirePattern(body.slice(0, double ? 33 : 49), keyPattern);
      const ownCheckValue = requirePattern(
        body.slice(reference.length, reference.length + 6),
        checkValuePattern,
      );
      requireCheckValue(checkValue, ownCheckValue);
      return { keyRef: `payshield:${usage}.${reference}`, checkValue: ownCheckValue };
    },
    checkKey: async (keyRef) => fetchKeyFacts(findKey(keyRef)),
    mayUse: (keyRef, usage, organizationId) => mayUseKey(table, keyRef, usage, organizationId),
    async health() {
      try {
        parseReply(await send('NC'), 'NC');
      } catch {
        return 'down';
      }
      const { up, total } = connections.countReachable();
      return up === total ? 'up' : 'degraded';
    },
    close: async () => connections.close(),
  };
}
