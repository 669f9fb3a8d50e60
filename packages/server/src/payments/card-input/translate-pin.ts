// PIN translation: checks the KSN and translates the PIN block for the acquirer.
import { defined, fieldError, type ProcessRequest, refuse } from '@switchyard/contract';
import { type KeySerialNumber, PinError, readKsn } from '@switchyard/pin';
import type { AcquirerRequest, Acquiring } from '../../acquiring/index.ts';
import type { Log } from '../../platform/index.ts';
import { type Hsm, HsmError, type HsmErrorCode, type PinFormat } from '../../vault/index.ts';
import type { PinKsnStore } from './pin-ksn-sql.ts';
import type { PinData } from './validate-pin-block.ts';

/** Of the keyed hash of a card: enough to tell two cards apart. */
const cardFingerprintDigits = 16;

export type TranslatePinPorts = {
  acquiring: Pick<Acquiring, 'getZonePinKey'>;
  pinKsnStore: PinKsnStore;
  hsm: Pick<Hsm, 'translatePin'>;
  log: Pick<Log, 'warn'>;
};

/** The PIN as the acquirer takes it. */
export type ZonePin = NonNullable<NonNullable<AcquirerRequest['sensitive']>['pin']>;

const isoFormatNumbers = { ISO0: 0, ISO1: 1, ISO3: 3, ISO4: 4 } as const satisfies Record<
  string,
  PinFormat
>;

/** One and the same answer for every fault that a guess at a PIN could learn from. */
function refusePinBlock(): never {
  return refuse(
    'pin_block_invalid',
    'The PIN block is invalid.',
    fieldError('/pinblock', 'pin_block_invalid', 'PIN block, KSN and card do not match.'),
  );
}

const refusalByHsmError: Readonly<Record<HsmErrorCode, () => never>> = {
  PinBlockInvalid: refusePinBlock,
  PanMismatch: refusePinBlock,
  KsnInvalid: refusePinBlock,
  DataInvalid: refusePinBlock,
  KeyNotFound: refusePinNotSupported,
  KeyUsage: refusePinNotSupported,
  FormatNotAllowed: refusePinFormat,
  Unsupported: refusePinFormat,
  HsmBusy: refuseHsmUnavailable,
  HsmUnavailable: refuseHsmUnavailable,
};

function refusePinNotSupported(): never {
  return refuse('pin_not_supported', 'The acquirer link has no PIN key.');
}

function refusePinFormat(): never {
  return refuse(
    'pin_format_unsupported',
    'The acquirer cannot be sent a PIN of this format.',
    fieldError(
      '/pinblockFormat',
      'pin_format_unsupported',
      'Cannot become the format of the acquirer.',
    ),
  );
}

function refuseHsmUnavailable(): never {
  return refuse('hsm_unavailable', 'The HSM is not available. No message was sent.');
}

function refuseReusedKsn(): never {
  return refuse(
    'ksn_reused',
    'The device has already used this KSN or a later one.',
    fieldError('/ksn', 'ksn_reused', 'The KSN counter must increase.'),
  );
}

function parseKsn(ksn: string): KeySerialNumber {
  try {
    return readKsn(ksn);
  } catch (error) {
    if (error instanceof PinError) return refusePinBlock();
    throw error;
  }
}

/** The operator has to correct a key, so the log names it, without a value. */
function refuseHsmError({ log }: TranslatePinPorts, linkId: string, error: unknown): never {
  if (!(error instanceof HsmError)) throw error;
  const refusal = refusalByHsmError[error.code];
  if (refusal === refusePinNotSupported)
    log.warn(
      { linkId, code: error.code },
      'the PIN key of the acquirer link is missing or not usable',
    );
  return refusal();
}

/**
 * Takes the PIN of a sale under the key of its acquirer link. The counter of the device is used up
 * by it: the same try, under the same clientTransactionId and of the same card, may come again,
 * another one may not.
 *
 * @returns undefined for a sale without a PIN
 * @throws Refusal pin_not_supported, ksn_reused, pin_block_invalid, pin_format_unsupported,
 *   hsm_unavailable
 */
export async function translatePin(
  ports: TranslatePinPorts,
  request: ProcessRequest,
  sale: {
    organizationId: string;
    merchantId: string;
    linkId: string;
    pan: string;
    cardFingerprint: string;
  },
): Promise<ZonePin | undefined> {
  if (request.pinblock === undefined) return undefined;
  const { ksn, pinblock, pinblockFormat } = request as ProcessRequest & PinData;
  const { organizationId, merchantId, linkId, pan, cardFingerprint } = sale;
  const zoneKey = ports.acquiring.getZonePinKey(linkId);
  if (zoneKey === undefined) return refusePinNotSupported();
  const { scheme, device, counter, bytes } = parseKsn(ksn);
  // The same try is of the same card and format: many of them would tell something about the PIN.
  const { clientTransactionId } = request;
  const shortCardFingerprint = cardFingerprint.slice(0, cardFingerprintDigits);
  const usedBy = [merchantId, clientTransactionId, pinblockFormat, shortCardFingerprint].join('|');
  const ksnUse = { organizationId, merchantId, ksnDevicePart: device, counter, usedBy };
  if (!(await ports.pinKsnStore.take(ksnUse))) refuseReusedKsn();
  const translated = await ports.hsm
    .translatePin({
      organizationId,
      scheme,
      ksn: Buffer.from(bytes).toString('hex').toUpperCase(),
      inFormat: isoFormatNumbers[pinblockFormat],
      pinBlock: pinblock,
      pan,
      outKeyRef: zoneKey.keyRef,
      outFormat: zoneKey.format,
    })
    .catch((error: unknown) => refuseHsmError(ports, linkId, error));
  if (!(await ports.pinKsnStore.confirmUse(ksnUse))) refuseReusedKsn();
  return {
    block: translated.pinBlock,
    format: translated.outFormat,
    ...defined({ keyIndex: zoneKey.keyIndex }),
  };
}
