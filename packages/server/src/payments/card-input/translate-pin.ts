// PIN translation: checks the KSN and translates the PIN block for the acquirer.
import {
  defined,
  type ProcessRequest,
  throwFieldProblem,
  throwProblem,
} from '@switchyard/contract';
import { type KeySerialNumber, PinError, readKsn } from '@switchyard/pin';
import type { AcquirerRequest, Acquiring } from '../../acquiring/index.ts';
import type { Log } from '../../platform/index.ts';
import type { Hsm, PinFormat } from '../../vault/index.ts';
import { hsmErrorCode } from './decrypt-card-data.ts';
import {
  cardFingerprintDigits,
  type KsnUser,
  type PinKsnStore,
  throwReusedKsn,
} from './ksn-sql.ts';

export type PinData = Required<Pick<ProcessRequest, 'ksn' | 'pinblock' | 'pinblockFormat'>>;

export type TranslatePinPorts = {
  acquiring: Pick<Acquiring, 'getZonePinKey'>;
  pinKsnStore: PinKsnStore;
  hsm: Pick<Hsm, 'translatePin'>;
  log: Pick<Log, 'warn'>;
};

type ZonePin = NonNullable<NonNullable<AcquirerRequest['sensitive']>['pin']>;

const isoFormatNumbers: Readonly<Record<PinData['pinblockFormat'], PinFormat>> = {
  ISO0: 0,
  ISO1: 1,
  ISO3: 3,
  ISO4: 4,
};

/** The same error for every fault, so that it does not help an attacker to guess a PIN. */
function throwInvalidPinBlock(): never {
  const detail = 'The PIN block is invalid: PIN block, KSN and card do not match.';
  return throwFieldProblem('pin_block_invalid', '/pinblock', detail);
}

function throwPinNotSupported(): never {
  return throwProblem('pin_not_supported', 'The acquirer link has no PIN key.');
}

function parseKsn(ksn: string): KeySerialNumber {
  try {
    return readKsn(ksn);
  } catch (error) {
    if (error instanceof PinError) return throwInvalidPinBlock();
    throw error;
  }
}

function throwHsmProblem({ log }: TranslatePinPorts, linkId: string, error: unknown): never {
  const code = hsmErrorCode(error);
  if (code === 'KeyNotFound' || code === 'KeyUsage') {
    // An operator must correct the key.
    log.warn({ linkId, code }, 'the PIN key of the acquirer link is missing or not usable');
    return throwPinNotSupported();
  }
  if (code !== 'FormatNotAllowed' && code !== 'Unsupported') return throwInvalidPinBlock();
  const detail = 'A PIN block of this format cannot be translated to the format of the acquirer.';
  return throwFieldProblem('pin_format_unsupported', '/pinblockFormat', detail);
}

/**
 * Re-encrypts the PIN block under the zone key of the acquirer link. Only the same sale with the same card may
 * use the KSN again.
 *
 * @returns undefined for a sale without a PIN
 * @throws ProblemError pin_not_supported, ksn_reused, pin_block_invalid, pin_format_unsupported,
 *   hsm_unavailable
 */
export async function translatePin(
  ports: TranslatePinPorts,
  request: ProcessRequest,
  sale: Omit<KsnUser, 'at' | 'stepUpOf'> & { linkId: string; pan: string },
): Promise<ZonePin | undefined> {
  if (request.pinblock === undefined) return undefined;
  const { ksn, pinblock, pinblockFormat } = request as ProcessRequest & PinData;
  const { organizationId, merchantId, linkId, pan, cardFingerprint } = sale;
  const zoneKey = ports.acquiring.getZonePinKey(linkId);
  if (zoneKey === undefined) return throwPinNotSupported();
  const { scheme, device, counter, bytes } = parseKsn(ksn);
  // Attempts with other cards or formats would help an attacker to guess the PIN.
  const card = cardFingerprint.slice(0, cardFingerprintDigits);
  const usedBy = [merchantId, request.clientTransactionId, pinblockFormat, card].join('|');
  const ksnUse = { organizationId, merchantId, ksnDevicePart: device, counter, usedBy };
  if (!(await ports.pinKsnStore.take(ksnUse))) throwReusedKsn('/ksn');
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
    .catch((error: unknown) => throwHsmProblem(ports, linkId, error));
  if (!(await ports.pinKsnStore.confirmUse(ksnUse))) throwReusedKsn('/ksn');
  const { pinBlock: block, outFormat: format } = translated;
  return { block, format, ...defined({ keyIndex: zoneKey.keyIndex }) };
}
