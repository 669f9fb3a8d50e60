// What a terminal shows: an EMV merchant-presented code, as text or drawn.
import { writeMerchantCode } from '@switchyard/emv';
import { formatAmount, numericOf } from '@switchyard/money';
import type { CreateQrPayment, QrDisplay } from '@switchyard/sdk-provider';
import { toBuffer, toString as toText } from 'qrcode';

const scheme = 'com.example.demopay';
const nameMax = 25;
const cityMax = 15;
const labelMax = 12;
const unknownCategory = '0000';
const images = { errorCorrectionLevel: 'M', margin: 4 } as const;
const pixelsOfModule = 4;

/** A code holds no control characters, and only so many of the others. */
const short = (text: string, max: number): string =>
  [...text.replace(/\p{C}+/gu, ' ').trim()].slice(0, max).join('').trim();

/**
 * The text of the code of a payment.
 *
 * @throws EmvError where the amount does not fit into a code
 */
export function codeOf(
  { merchant, amount: { amount, currency } }: CreateQrPayment,
  providerTransactionId: string,
): string {
  const { name, storeName, city, country, mcc = unknownCategory, terminalId } = merchant;
  const [decimal = ''] = formatAmount(amount, currency).split(' ');
  return writeMerchantCode({
    initiation: 'Dynamic',
    accounts: [
      {
        id: '26',
        objects: [
          { id: '00', value: scheme },
          { id: '01', value: providerTransactionId },
        ],
      },
    ],
    merchantCategoryCode: mcc,
    currency: numericOf(currency),
    amount: decimal,
    countryCode: country,
    merchantName: short(name, nameMax) || short(storeName, nameMax) || 'Merchant',
    merchantCity: short(city ?? '', cityMax) || country,
    additional: {
      referenceLabel: providerTransactionId,
      terminalLabel: terminalId.replaceAll('-', '').slice(-labelMax),
    },
  });
}

/** @example await drawn(code, 'image/png'); */
export async function drawn(code: string, type: QrDisplay['type']): Promise<QrDisplay> {
  if (type === 'text/emvqr') return { type, data: code };
  if (type === 'url') {
    return { type, data: `https://wallet.example/pay?code=${encodeURIComponent(code)}` };
  }
  const bytes =
    type === 'image/png'
      ? await toBuffer(code, { ...images, type: 'png', scale: pixelsOfModule })
      : Buffer.from((await toText(code, { ...images, type: 'svg' })).trim());
  return { type, data: bytes.toString('base64') };
}
