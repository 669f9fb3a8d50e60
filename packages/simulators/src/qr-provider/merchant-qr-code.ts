// The EMV merchant-presented code that a terminal displays, as text or image.
import { writeMerchantCode } from '@switchyard/emv';
import { formatAmount, numericOf } from '@switchyard/money';
import type { CreateQrPayment, QrDisplay } from '@switchyard/sdk-provider';
import { toBuffer, toString as toText } from 'qrcode';

const scheme = 'com.example.demopay';
const nameMax = 25;
const cityMax = 15;
const labelMax = 12;
const unknownCategory = '0000';
const imageOptions = { errorCorrectionLevel: 'M', margin: 4 } as const;
const pixelsPerModule = 4;

/** Removes control characters and shortens a text to the limit of the code. */
const shorten = (text: string, max: number): string =>
  [...text.replace(/\p{C}+/gu, ' ').trim()].slice(0, max).join('').trim();

/**
 * The text of the code for a payment.
 *
 * @throws EmvError where the amount does not fit into a code
 */
export function merchantCodeText(
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
    merchantName: shorten(name, nameMax) || shorten(storeName, nameMax) || 'Merchant',
    merchantCity: shorten(city ?? '', cityMax) || country,
    additional: {
      referenceLabel: providerTransactionId,
      terminalLabel: terminalId.replaceAll('-', '').slice(-labelMax),
    },
  });
}

/** @example await drawn(code, 'image/png'); */
export async function renderDisplay(code: string, type: QrDisplay['type']): Promise<QrDisplay> {
  if (type === 'text/emvqr') return { type, data: code };
  if (type === 'url') {
    return { type, data: `https://wallet.example/pay?code=${encodeURIComponent(code)}` };
  }
  const bytes =
    type === 'image/png'
      ? await toBuffer(code, { ...imageOptions, type: 'png', scale: pixelsPerModule })
      : Buffer.from((await toText(code, { ...imageOptions, type: 'svg' })).trim());
  return { type, data: bytes.toString('base64') };
}
