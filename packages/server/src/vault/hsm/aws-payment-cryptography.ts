// Uses AWS Payment Cryptography as the HSM: its data plane for PINs, its control plane for keys.
import { defined } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { type AwsClient, type AwsResult, type Log, lruCacheOptions } from '../../platform/index.ts';
import { awsFactsOf, demandDerivable } from './aws-key-attributes.ts';
import {
  HsmError,
  type HsmErrorCode,
  type KeyFacts,
  type KeyUsage,
  type OpenableHsm,
  type OutPinFormat,
  type PinFormat,
  type PinTranslationRequest,
} from './hsm-types.ts';
import { derivationOf, isOpenTo, type KeyEntry, type KeyTable, mayUseKey } from './key-table.ts';
import {
  blockLengthOf,
  demandCheckValue,
  demandData,
  demandHex,
  demandKey,
  demandPurpose,
  demandTranslation,
  openingKeyOf,
} from './validate-hsm-request.ts';
import { createVerifiedKeys } from './verify-check-values.ts';

export type AwsHsmDeps = {
  readonly table: KeyTable;
  readonly log: Log;
  /** `dataplane.payment-cryptography`. */
  readonly data: AwsClient;
  /** `controlplane.payment-cryptography`. */
  readonly control: AwsClient;
  /** How PIN pads use the card number in format 4; the service uses twelve digits. */
  readonly format4Pan: 'full' | 'twelve';
};

type Answer = Readonly<Record<string, unknown>>;

const macLengths = { AesCmac: 16, Iso9797Alg3: 8 } as const;
const macNames = { AesCmac: 'CMAC', Iso9797Alg3: 'ISO9797_ALGORITHM3' } as const;
const macAlgorithmOf = { AesCmac: 'Aes', Iso9797Alg3: 'Tdes' } as const;
/** Cached keys of links; the adapter reads an evicted one again. */
const importedMax = 1000;
const desBlock = 8;
/** A TR-31 key block: its version, then its length in decimal digits. */
const tr31Form = /^[A-D]\d{4}[0-9A-Z]{8,4000}$/;
const arnForm = /^arn:aws[a-z-]*:payment-cryptography:[a-z0-9-]+:\d{12}:key\/[0-9a-zA-Z]{16,64}$/;
const blockForm = /^(?:[0-9A-F]{16}|[0-9A-F]{32})$/;
const hexForm = /^(?:[0-9A-F]{2})+$/i;

/**
 * Exceptions with one meaning for every operation; a ValidationException depends on the operation.
 */
const refusals: Readonly<Record<string, HsmErrorCode>> = {
  ResourceNotFoundException: 'KeyNotFound',
  ThrottlingException: 'HsmBusy',
  ServiceQuotaExceededException: 'HsmBusy',
  ConflictException: 'HsmBusy',
};

/** @throws HsmError */
function answerOf(result: AwsResult, invalid: HsmErrorCode): Answer {
  if (result.failure !== undefined) throw new HsmError('HsmUnavailable', result.failure);
  if (result.exceptionName === undefined) return result.response;
  const code =
    result.exceptionName === 'ValidationException'
      ? invalid
      : (refusals[result.exceptionName] ?? undefined);
  // The error contains only the exception name, because its message may repeat the request.
  throw new HsmError(code ?? 'HsmUnavailable', result.exceptionName);
}

function textIn(answer: Answer, member: string, form: RegExp): string {
  const value = answer[member];
  if (typeof value === 'string' && form.test(value)) return value;
  throw new HsmError('HsmUnavailable', `an answer without ${member}`);
}

const isoFormatOf = (format: PinFormat, pan: string): Answer => ({
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
    IncomingTranslationAttributes: isoFormatOf(inFormat, pan),
    OutgoingTranslationAttributes: isoFormatOf(outFormat, pan),
    ...defined({
      IncomingDukptAttributes:
        ksn === undefined
          ? undefined
          : {
              KeySerialNumber: ksn,
              DukptKeyDerivationType: derivationOf(entry),
            },
    }),
  };
}

/** Padding method 1 for the retail MAC of a link: zeros fill the last block. */
function macData(data: Buffer, algorithm: keyof typeof macNames): string {
  const short = algorithm === 'Iso9797Alg3' ? (desBlock - (data.length % desBlock)) % desBlock : 0;
  return data.toString('hex').toUpperCase() + '00'.repeat(short);
}

/** @example const hsm = createAwsHsm({ table, log, data, control, format4Pan: 'full' }); */
export function createAwsHsm(deps: AwsHsmDeps): OpenableHsm {
  const { table, data, control, format4Pan } = deps;

  async function askKey(reference: string): Promise<unknown> {
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'PaymentCryptographyControlPlane.GetKey',
    };
    const result = await control.call({ path: '/', headers, body: { KeyIdentifier: reference } });
    return answerOf(result, 'KeyNotFound')['Key'];
  }

  const askFacts = async (reference: string): Promise<KeyFacts> =>
    awsFactsOf(await askKey(reference));

  async function ask(entry: KeyEntry): Promise<KeyFacts> {
    const key = await askKey(entry.reference);
    demandDerivable(entry, key);
    return awsFactsOf(key);
  }

  const keys = createVerifiedKeys({ table, log: deps.log, ask });
  /** Imported keys, which are in no table and never change. */
  const imported = new LRUCache<string, KeyFacts>(lruCacheOptions(importedMax));

  /** Finds a key of the table by name or ARN, or an imported key by its ARN. */
  async function resolve(ref: string, usage: KeyUsage, organizationId?: string) {
    const called = table.called(ref);
    if (called.length > 0 || !arnForm.test(ref)) {
      const isOurs = (each: KeyEntry) =>
        organizationId === undefined || isOpenTo(each, organizationId);
      const entry = demandPurpose(called.filter(isOurs), usage);
      await keys.demand(entry);
      return entry;
    }
    const facts = imported.get(ref) ?? (await askFacts(ref));
    imported.set(ref, facts);
    if (facts.usage !== usage) throw new HsmError('KeyUsage');
    return { reference: ref, algorithm: facts.algorithm };
  }

  function demandFormat4(...formats: readonly (PinFormat | OutPinFormat)[]): void {
    if (format4Pan === 'twelve' || !formats.includes(4)) return;
    throw new HsmError('Unsupported', 'format 4 with the whole card number');
  }

  return {
    start: keys.start,
    async translatePin(request) {
      const from = openingKeyOf(table, request);
      await keys.demand(from.entry);
      const zone = await resolve(request.outKeyRef, 'ZonePin', request.organizationId);
      demandTranslation(request, from.entry, zone);
      demandFormat4(request.inFormat, request.outFormat);
      const body = translationBody(request, from, zone.reference);
      const answer = answerOf(
        await data.call({ path: '/pindata/translate', body }),
        'PinBlockInvalid',
      );
      return { pinBlock: textIn(answer, 'PinBlock', blockForm), outFormat: request.outFormat };
    },
    async decryptData(request) {
      const { entry, ksn = '' } = openingKeyOf(table, request);
      await keys.demand(entry);
      const bytes = demandData(request, entry);
      const body = {
        CipherText: bytes.toString('hex').toUpperCase(),
        DecryptionAttributes: {
          Dukpt: {
            KeySerialNumber: ksn,
            Mode: 'CBC',
            DukptKeyDerivationType: derivationOf(entry),
            DukptKeyVariant: 'REQUEST',
            InitializationVector: '00'.repeat(blockLengthOf(entry)),
          },
        },
      };
      const path = `/keys/${encodeURIComponent(entry.reference)}/decrypt`;
      const answer = answerOf(await data.call({ path, body }), 'DataInvalid');
      return Buffer.from(textIn(answer, 'PlainText', hexForm), 'hex');
    },
    async mac({ keyRef, algorithm, data: message }) {
      const key = await resolve(keyRef, 'Mac');
      if (key.algorithm !== macAlgorithmOf[algorithm]) throw new HsmError('KeyUsage');
      const body = {
        KeyIdentifier: key.reference,
        MessageData: macData(message, algorithm),
        GenerationAttributes: { Algorithm: macNames[algorithm] },
        MacLength: macLengths[algorithm],
      };
      const answer = answerOf(await data.call({ path: '/mac/generate', body }), 'DataInvalid');
      return Buffer.from(textIn(answer, 'Mac', hexForm), 'hex');
    },
    async importKey({ wrappingKeyRef, wrapped, checkValue, usage, algorithm }) {
      const wrapping = demandKey(table, wrappingKeyRef, 'KeyEncryption');
      await keys.demand(wrapping);
      const block = demandHex(wrapped, 'DataInvalid').toString('latin1');
      // The service accepts only key blocks, and no keys that are merely encrypted.
      if (!tr31Form.test(block)) throw new HsmError('Unsupported', 'a key that is no TR-31 block');
      const headers = {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'PaymentCryptographyControlPlane.ImportKey',
      };
      const body = {
        KeyMaterial: {
          Tr31KeyBlock: { WrappedKeyBlock: block, WrappingKeyIdentifier: wrapping.reference },
        },
        KeyCheckValueAlgorithm: algorithm === 'Aes' ? 'CMAC' : 'ANSI_X9_24',
      };
      const answer = answerOf(await control.call({ path: '/', headers, body }), 'DataInvalid');
      const key = (answer['Key'] ?? {}) as Answer;
      const facts = awsFactsOf(key);
      if (facts.usage !== usage || facts.algorithm !== algorithm) throw new HsmError('KeyUsage');
      demandCheckValue(checkValue, facts.checkValue);
      const keyRef = textIn(key, 'KeyArn', arnForm);
      imported.set(keyRef, facts);
      return { keyRef, checkValue: facts.checkValue };
    },
    checkKey: (keyRef) => askFacts(table.named(keyRef)?.reference ?? keyRef),
    mayUse: (keyRef, usage, organizationId) => mayUseKey(table, keyRef, usage, organizationId),
    async health() {
      const [first] = table.entries;
      if (first === undefined) return 'up';
      const facts = await ask(first).catch(() => undefined);
      return facts === undefined ? 'down' : 'up';
    },
    async close() {
      data.close();
      control.close();
    },
  };
}
