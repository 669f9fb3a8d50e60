// Uses AWS Payment Cryptography as the HSM: its data plane for PINs, its control plane for keys.
import { defined } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { type AwsClient, type AwsResult, type Log, lruCacheOptions } from '../../platform/index.ts';
import {
  HsmError,
  type HsmErrorCode,
  type KeyFacts,
  type KeyUsage,
  type OutPinFormat,
  type PinFormat,
  type PinTranslationRequest,
  type StartableHsm,
} from './hsm-types.ts';
import {
  getWorkingKeyAlgorithm,
  isStrongerThan,
  type KeyEntry,
  type KeyTable,
  mayOrganizationUse,
  mayUseKey,
  type WorkingKeyAlgorithm,
} from './key-table.ts';
import {
  findDecryptionKey,
  getBlockLength,
  parseHex,
  requireCheckValue,
  requireKey,
  requireUsage,
  requireValidData,
  requireValidTranslation,
} from './validate-hsm-request.ts';
import { createKeyVerifier } from './verify-check-values.ts';

type AwsHsmDeps = {
  readonly table: KeyTable;
  readonly log: Log;
  /** `dataplane.payment-cryptography`. */
  readonly data: AwsClient;
  /** `controlplane.payment-cryptography`. */
  readonly control: AwsClient;
  /** How PIN pads use the card number in format 4; the service uses twelve digits. */
  readonly format4Pan: 'full' | 'twelve';
};

type AwsResponse = Readonly<Record<string, unknown>>;

const macLengths = { AesCmac: 16, Iso9797Alg3: 8 } as const;
const macNames = { AesCmac: 'CMAC', Iso9797Alg3: 'ISO9797_ALGORITHM3' } as const;
const keyAlgorithmOfMac = { AesCmac: 'Aes', Iso9797Alg3: 'Tdes' } as const;
/** Cached keys of links; the adapter reads an evicted one again. */
const cachedImportedKeysMax = 1000;
const desBlock = 8;
/** A TR-31 key block: its version, then its length in decimal digits. */
const tr31Pattern = /^[A-D]\d{4}[0-9A-Z]{8,4000}$/;
const arnPattern =
  /^arn:aws[a-z-]*:payment-cryptography:[a-z0-9-]+:\d{12}:key\/[0-9a-zA-Z]{16,64}$/;
const pinBlockPattern = /^(?:[0-9A-F]{16}|[0-9A-F]{32})$/;
const hexPattern = /^(?:[0-9A-F]{2})+$/i;

/**
 * Exceptions with one meaning for every operation; a ValidationException depends on the operation.
 */
const errorCodesByException: Readonly<Record<string, HsmErrorCode>> = {
  ResourceNotFoundException: 'KeyNotFound',
  ThrottlingException: 'HsmBusy',
  ServiceQuotaExceededException: 'HsmBusy',
  ConflictException: 'HsmBusy',
};

/** @throws HsmError */
function requireResponse(result: AwsResult, invalid: HsmErrorCode): AwsResponse {
  if (result.failure !== undefined) throw new HsmError('HsmUnavailable', result.failure);
  if (result.exceptionName === undefined) return result.response;
  const code =
    result.exceptionName === 'ValidationException'
      ? invalid
      : (errorCodesByException[result.exceptionName] ?? undefined);
  // The error contains only the exception name, because its message may repeat the request.
  throw new HsmError(code ?? 'HsmUnavailable', result.exceptionName);
}

function readText(response: AwsResponse, member: string, form: RegExp): string {
  const value = response[member];
  if (typeof value === 'string' && form.test(value)) return value;
  throw new HsmError('HsmUnavailable', `an answer without ${member}`);
}

const toIsoFormat = (format: PinFormat, pan: string): AwsResponse => ({
  [`IsoFormat${format}`]: format === 1 ? {} : { PrimaryAccountNumber: pan },
});

function translationBody(
  request: PinTranslationRequest,
  from: { entry: KeyEntry; ksn?: string },
  outReference: string,
): object {
  const { inFormat, outFormat, pan, pinBlock } = request;
  const { entry, ksn } = from;
  return {
    EncryptedPinBlock: pinBlock.toUpperCase(),
    IncomingKeyIdentifier: entry.reference,
    OutgoingKeyIdentifier: outReference,
    IncomingTranslationAttributes: toIsoFormat(inFormat, pan),
    OutgoingTranslationAttributes: toIsoFormat(outFormat, pan),
    ...defined({
      IncomingDukptAttributes:
        ksn === undefined
          ? undefined
          : {
              KeySerialNumber: ksn,
              DukptKeyDerivationType: getWorkingKeyAlgorithm(entry),
            },
    }),
  };
}

/** Padding method 1 for the retail MAC of a link: zeros fill the last block. */
function padMacData(data: Buffer, algorithm: keyof typeof macNames): string {
  const paddingBytes =
    algorithm === 'Iso9797Alg3' ? (desBlock - (data.length % desBlock)) % desBlock : 0;
  return data.toString('hex').toUpperCase() + '00'.repeat(paddingBytes);
}

/** @example const hsm = createAwsHsm({ table, log, data, control, format4Pan: 'full' }); */
export function createAwsHsm(deps: AwsHsmDeps): StartableHsm {
  const { table, data, control, format4Pan } = deps;

  async function fetchKey(reference: string): Promise<unknown> {
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'PaymentCryptographyControlPlane.GetKey',
    };
    const result = await control.call({ path: '/', headers, body: { KeyIdentifier: reference } });
    return requireResponse(result, 'KeyNotFound')['Key'];
  }

  const fetchKeyFacts = async (reference: string): Promise<KeyFacts> =>
    toKeyFacts(await fetchKey(reference));

  async function fetchEntryFacts(entry: KeyEntry): Promise<KeyFacts> {
    const key = await fetchKey(entry.reference);
    requireDerivable(entry, key);
    return toKeyFacts(key);
  }

  const keys = createKeyVerifier({ table, log: deps.log, fetchKeyFacts: fetchEntryFacts });
  /** Imported keys, which are in no table and never change. */
  const imported = new LRUCache<string, KeyFacts>(lruCacheOptions(cachedImportedKeysMax));

  /** Finds a key of the table by name or ARN, or an imported key by its ARN. */
  async function resolve(ref: string, usage: KeyUsage, organizationId?: string) {
    const candidates = table.findByReference(ref);
    if (candidates.length > 0 || !arnPattern.test(ref)) {
      const isAllowed = (each: KeyEntry) =>
        organizationId === undefined || mayOrganizationUse(each, organizationId);
      const entry = requireUsage(candidates.filter(isAllowed), usage);
      await keys.requireVerified(entry);
      return entry;
    }
    const facts = imported.get(ref) ?? (await fetchKeyFacts(ref));
    imported.set(ref, facts);
    if (facts.usage !== usage) throw new HsmError('KeyUsage');
    return { reference: ref, algorithm: facts.algorithm };
  }

  function requireFormat4Supported(...formats: readonly (PinFormat | OutPinFormat)[]): void {
    if (format4Pan === 'twelve' || !formats.includes(4)) return;
    throw new HsmError('Unsupported', 'format 4 with the whole card number');
  }

  return {
    start: keys.start,
    async translatePin(request) {
      const source = findDecryptionKey(table, request);
      await keys.requireVerified(source.entry);
      const zone = await resolve(request.outKeyRef, 'ZonePin', request.organizationId);
      requireValidTranslation(request, source.entry, zone);
      requireFormat4Supported(request.inFormat, request.outFormat);
      const body = translationBody(request, source, zone.reference);
      const response = requireResponse(
        await data.call({ path: '/pindata/translate', body }),
        'PinBlockInvalid',
      );
      return {
        pinBlock: readText(response, 'PinBlock', pinBlockPattern),
        outFormat: request.outFormat,
      };
    },
    async decryptData(request) {
      const { entry, ksn = '' } = findDecryptionKey(table, request);
      await keys.requireVerified(entry);
      const bytes = requireValidData(request, entry);
      const body = {
        CipherText: bytes.toString('hex').toUpperCase(),
        DecryptionAttributes: {
          Dukpt: {
            KeySerialNumber: ksn,
            Mode: 'CBC',
            DukptKeyDerivationType: getWorkingKeyAlgorithm(entry),
            DukptKeyVariant: 'REQUEST',
            InitializationVector: '00'.repeat(getBlockLength(entry)),
          },
        },
      };
      const path = `/keys/${encodeURIComponent(entry.reference)}/decrypt`;
      const response = requireResponse(await data.call({ path, body }), 'DataInvalid');
      return Buffer.from(readText(response, 'PlainText', hexPattern), 'hex');
    },
    async mac({ keyRef, algorithm, data: message }) {
      const key = await resolve(keyRef, 'Mac');
      if (key.algorithm !== keyAlgorithmOfMac[algorithm]) throw new HsmError('KeyUsage');
      const body = {
        KeyIdentifier: key.reference,
        MessageData: padMacData(message, algorithm),
        GenerationAttributes: { Algorithm: macNames[algorithm] },
        MacLength: macLengths[algorithm],
      };
      const response = requireResponse(
        await data.call({ path: '/mac/generate', body }),
        'DataInvalid',
      );
      return Buffer.from(readText(response, 'Mac', hexPattern), 'hex');
    },
    async importKey({ wrappingKeyRef, wrapped, checkValue, usage, algorithm }) {
      const wrappingKey = requireKey(table, wrappingKeyRef, 'KeyEncryption');
      await keys.requireVerified(wrappingKey);
      const block = parseHex(wrapped, 'DataInvalid').toString('latin1');
      // The service accepts only key blocks, and no keys that are merely encrypted.
      if (!tr31Pattern.test(block))
        throw new HsmError('Unsupported', 'a key that is not a TR-31 block');
      const headers = {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'PaymentCryptographyControlPlane.ImportKey',
      };
      const body = {
        KeyMaterial: {
          Tr31KeyBlock: { WrappedKeyBlock: block, WrappingKeyIdentifier: wrappingKey.reference },
        },
        KeyCheckValueAlgorithm: algorithm === 'Aes' ? 'CMAC' : 'ANSI_X9_24',
      };
      const response = requireResponse(
        await control.call({ path: '/', headers, body }),
        'DataInvalid',
      );
      const key = (response['Key'] ?? {}) as AwsResponse;
      const facts = toKeyFacts(key);
      if (facts.usage !== usage || facts.algorithm !== algorithm) throw new HsmError('KeyUsage');
      requireCheckValue(checkValue, facts.checkValue);
      const keyRef = readText(key, 'KeyArn', arnPattern);
      imported.set(keyRef, facts);
      return { keyRef, checkValue: facts.checkValue };
    },
    checkKey: (keyRef) => fetchKeyFacts(table.findByName(keyRef)?.reference ?? keyRef),
    mayUse: (keyRef, usage, organizationId) => mayUseKey(table, keyRef, usage, organizationId),
    async health() {
      const [first] = table.entries;
      if (first === undefined) return 'up';
      const facts = await fetchEntryFacts(first).catch(() => undefined);
      return facts === undefined ? 'down' : 'up';
    },
    async close() {
      data.close();
      control.close();
    },
  };
}

const usages: Readonly<Record<string, KeyUsage>> = {
  TR31_B0_BASE_DERIVATION_KEY: 'BaseDerivation',
  TR31_K0_KEY_ENCRYPTION_KEY: 'KeyEncryption',
  TR31_K1_KEY_BLOCK_PROTECTION_KEY: 'KeyEncryption',
  TR31_P0_PIN_ENCRYPTION_KEY: 'ZonePin',
  TR31_M1_ISO_9797_1_MAC_KEY: 'Mac',
  TR31_M3_ISO_9797_3_MAC_KEY: 'Mac',
  TR31_M6_ISO_9797_5_CMAC_KEY: 'Mac',
};

type Members = Readonly<Record<string, unknown>>;

const toMembers = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

/**
 * Converts the service's description of a key. A disabled or deleted key counts as not found.
 *
 * @throws HsmError `KeyNotFound`, `KeyUsage`
 */
function toKeyFacts(description: unknown): KeyFacts {
  const key = toMembers(description);
  const attributes = toMembers(key['KeyAttributes']);
  if (key['Enabled'] === false) throw new HsmError('KeyNotFound', 'the key is not enabled');
  const state = key['KeyState'];
  if (state !== 'CREATE_COMPLETE') throw new HsmError('KeyNotFound', 'the key is not complete');
  const usage = usages[String(attributes['KeyUsage'])];
  if (usage === undefined) throw new HsmError('KeyUsage');
  const algorithm = String(attributes['KeyAlgorithm']).startsWith('AES_') ? 'Aes' : 'Tdes';
  return { checkValue: String(key['KeyCheckValue']).toUpperCase().slice(0, 6), usage, algorithm };
}

/**
 * Checks the strength of the base key first, because the service reports it with the error for an
 * invalid PIN block.
 *
 * @throws HsmError `KeyUsage` if the table requests a working key stronger than the base key
 */
function requireDerivable(entry: KeyEntry, description: unknown): void {
  const base = toMembers(toMembers(description)['KeyAttributes'])[
    'KeyAlgorithm'
  ] as WorkingKeyAlgorithm;
  const working = getWorkingKeyAlgorithm(entry);
  if (entry.usage === 'BaseDerivation' && isStrongerThan(working, base)) {
    throw new HsmError('KeyUsage', `a base key of ${base} derives no ${working}`);
  }
}
