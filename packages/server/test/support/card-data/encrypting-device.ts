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

export type Scheme = 'DukptTdes' | 'DukptAes';
export type PinMembers = { ksn: string; pinblock: string; pinblockFormat: PinBlockFormat };

export type EncryptingDevice = {
  /** The next key serial number; a device only counts up. */
  nextKsn(): string;
  /** The members of a sale with a PIN; `ksn` defaults to the next one. */
  pin(digits: string, pan: string, format?: PinBlockFormat, ksn?: string): PinMembers;
  /** The instrument with encrypted data, padded with zeros or with 80 and zeros. */
  encrypted(
    of: 'Track2' | 'Emv' | 'Card',
    data: Buffer,
    padding?: '00' | '80',
  ): { encrypted: Record<string, string> };
};

const counterHex = { DukptTdes: 5, DukptAes: 8 } as const;

function padded(data: Buffer, block: number, padding: '00' | '80'): Buffer {
  const marked = padding === '80' ? Buffer.concat([data, Buffer.from([0x80])]) : data;
  const rest = (block - (marked.length % block)) % block;
  return Buffer.concat([marked, Buffer.alloc(rest)]);
}

let made = 0;

/** @example const device = encryptingDevice(on.settings.dataDir, 'DukptTdes'); */
export function encryptingDevice(dataDir: string, scheme: Scheme): EncryptingDevice {
  made += 1;
  const { baseDerivationKey, ksn: first } = demoKeys(dataDir).deviceKey(
    `test-${process.pid}-${made}`,
    scheme,
  );
  const baseKey = Buffer.from(baseDerivationKey, 'hex');
  const head = first.slice(0, -counterHex[scheme]);
  let counter = 0;
  const nextKsn = () => {
    counter += 1;
    return head + counter.toString(16).toUpperCase().padStart(counterHex[scheme], '0');
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
    encrypted(of, data, padding = '00') {
      const ksn = nextKsn();
      const whole = padded(data, scheme === 'DukptAes' ? 16 : 8, padding);
      const sealed = encryptDukptData({ baseKey, ksn, data: whole });
      return { encrypted: { of, scheme, ksn, data: sealed.toString('hex') } };
    },
  };
}
