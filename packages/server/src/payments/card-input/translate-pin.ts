// The PIN of a sale: counted once for each device, translated for the acquirer.
import { defined, type ErrorCode, type ProcessRequest, refuse } from '@switchyard/contract';
import { type KeySerialNumber, PinError, readKsn } from '@switchyard/pin';
import type { AcquirerRequest } from '../../acquiring/index.ts';
import { HsmError, type HsmErrorCode, type PinFormat } from '../../vault/index.ts';
import type { PaymentsDeps } from '../deps.ts';
import type { PinData } from './validate-pin-block.ts';

/** Of the keyed hash of a card: enough to tell two cards apart. */
const markDigits = 16;

/** The PIN as the acquirer takes it. */
export type ZonePin = NonNullable<NonNullable<AcquirerRequest['sensitive']>['pin']>;

const formats = { ISO0: 0, ISO1: 1, ISO3: 3, ISO4: 4 } as const satisfies Record<string, PinFormat>;

const at = (pointer: string, code: ErrorCode, detail: string) => ({
  errors: [{ pointer, code, detail }],
});

/** One and the same answer for every fault that a guess at a PIN could learn from. */
function refuseBlock(): never {
  return refuse('pin_block_invalid', 'The PIN could not be read.', {
    ...at('/pinblock', 'pin_block_invalid', 'Block, serial number and card do not fit together.'),
  });
}

const answers: Readonly<Record<HsmErrorCode, () => never>> = {
  PinBlockInvalid: refuseBlock,
  PanMismatch: refuseBlock,
  KsnInvalid: refuseBlock,
  DataInvalid: refuseBlock,
  KeyNotFound: refuseNotSupported,
  KeyUsage: refuseNotSupported,
  FormatNotAllowed: refuseFormat,
  Unsupported: refuseFormat,
  HsmBusy: refuseUnavailable,
  HsmUnavailable: refuseUnavailable,
};

function refuseNotSupported(): never {
  return refuse('pin_not_supported', 'No key is there under which the acquirer takes a PIN.');
}

function refuseFormat(): never {
  return refuse('pin_format_unsupported', 'The acquirer cannot be sent a PIN of this format.', {
    ...at('/pinblockFormat', 'pin_format_unsupported', 'Cannot become the format of the acquirer.'),
  });
}

function refuseUnavailable(): never {
  return refuse('hsm_unavailable', 'The PIN could not be translated, and nothing was sent.');
}

function refuseReused(): never {
  return refuse(
    'ksn_reused',
    'This serial number, or a later one of the device, was used before.',
    {
      ...at('/ksn', 'ksn_reused', 'The counter of a device only grows.'),
    },
  );
}

function serialOf(ksn: string): KeySerialNumber {
  try {
    return readKsn(ksn);
  } catch (error) {
    if (error instanceof PinError) return refuseBlock();
    throw error;
  }
}

/** A fault of the keys is the operator's to mend: it is told to the log, without a value. */
function answerFault(deps: PaymentsDeps, linkId: string, error: unknown): never {
  if (!(error instanceof HsmError)) throw error;
  const answer = answers[error.code];
  if (answer === refuseNotSupported) deps.log.warn({ linkId, code: error.code }, 'no PIN key');
  return answer();
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
export async function zonePinOf(
  deps: PaymentsDeps,
  request: ProcessRequest,
  of: { organizationId: string; merchantId: string; linkId: string; pan: string; mark: string },
): Promise<ZonePin | undefined> {
  if (request.pinblock === undefined) return undefined;
  const { ksn, pinblock, pinblockFormat } = request as ProcessRequest & PinData;
  const { organizationId, merchantId, linkId, pan, mark } = of;
  const zone = deps.acquiring.zonePinKey(linkId);
  if (zone === undefined) return refuseNotSupported();
  const { scheme, device, counter, bytes } = serialOf(ksn);
  // The same try is of the same card and format: many of them would tell something about the PIN.
  const { clientTransactionId } = request;
  const card = mark.slice(0, markDigits);
  const usedBy = [merchantId, clientTransactionId, pinblockFormat, card].join('|');
  const count = { organizationId, merchantId, device, counter, usedBy };
  if (!(await deps.pinCounters.take(count))) refuseReused();
  const translated = await deps.hsm
    .translatePin({
      organizationId,
      scheme,
      ksn: Buffer.from(bytes).toString('hex').toUpperCase(),
      inFormat: formats[pinblockFormat],
      pinBlock: pinblock,
      pan,
      outKeyRef: zone.keyRef,
      outFormat: zone.format,
    })
    .catch((error: unknown) => answerFault(deps, linkId, error));
  if (!(await deps.pinCounters.prove(count))) refuseReused();
  return {
    block: translated.pinBlock,
    format: translated.outFormat,
    ...defined({ keyIndex: zone.keyIndex }),
  };
}
