// A terminal that encrypts PINs and card data under DUKPT, with the keys of the demo.
import {
  aesWorkingKey,
  buildPinBlock,
  encryptDukptData,
  type PinBlockFormat,
  readKsn,
  sealPinBlock,
  tdesWorkingKey,
} from '@switchyard/pin';
import { demoKeys } from '../../../src/vault/index.ts';

export type DukptScheme = 'DukptTdes' | 'DukptAes';
export type PinFields = { ksn: string; pinblock: string; pinblockFormat: PinBlockFormat };

export type EncryptingDevice = {
  /** The next key serial number; a device only counts up. */
  nextKsn(): string;
  /** The members of a sale with a PIN; `ksn` defaults to the next one. */
  pin(digits: string, pan: string, format?: PinBlockFormat, ksn?: string): PinFields;
  /** The instrument with encrypted data, padded with zeros or with 80 and zeros. */
  encrypted(
    kind: 'Track2' | 'Emv' | 'Card',
    data: Buffer,
    padding?: '00' | '80',
  ): { encrypted: Record<string, string> };
};

const counterHex = { DukptTdes: 5, DukptAes: 8 } as const;

function padded(data: Buffer, block: number, padding: '00' | '80'): Buffer {
  const withMarker = padding === '80' ? Buffer.concat([data, Buffer.from([0x80])]) : data;
  const paddingLength = (block - (withMarker.length % block)) % block;
  return Buffer.concat([withMarker, Buffer.alloc(paddingLength)]);
}

let deviceCount = 0;

/** @example const device = createEncryptingDevice(on.settings.dataDir, 'DukptTdes'); */
export function createEncryptingDevice(dataDir: string, scheme: DukptScheme): EncryptingDevice {
  deviceCount += 1;
  const { baseDerivationKey, ksn: first } = demoKeys(dataDir).deviceKey(
    `test-${process.pid}-${deviceCount}`,
    scheme,
  );
  const baseKey = Buffer.from(baseDerivationKey, 'hex');
  const ksnPrefix = first.slice(0, -counterHex[scheme]);
  let counter = 0;
  const nextKsn = () => {
    counter += 1;
    return ksnPrefix + counter.toString(16).toUpperCase().padStart(counterHex[scheme], '0');
  };
  const defaultFormat = scheme === 'DukptAes' ? 'ISO4' : 'ISO0';
  return {
    nextKsn,
    pin(digits, pan, format = defaultFormat, ksn = nextKsn()) {
      const serial = readKsn(ksn);
      const key =
        serial.scheme === 'DukptAes'
          ? aesWorkingKey(baseKey, serial, 'pin')
          : tdesWorkingKey(baseKey, serial, 'pin');
      const clear = buildPinBlock(format, [...digits].map(Number), pan);
      const pinblock = sealPinBlock(format, key, clear, pan).toString('hex').toUpperCase();
      return { ksn, pinblock, pinblockFormat: format };
    },
    encrypted(kind, data, padding = '00') {
      const ksn = nextKsn();
      const paddedData = padded(data, scheme === 'DukptAes' ? 16 : 8, padding);
      const encryptedBytes = encryptDukptData({ baseKey, ksn, data: paddedData });
      return { encrypted: { of: kind, scheme, ksn, data: encryptedBytes.toString('hex') } };
    },
  };
}
