// Reads the code that a consumer presented: an EMVCo code, a wallet bar code, or another code. It is card data:
// the provider never stores, returns or logs it.
import { EmvError, maskPan, readConsumerCode, walletOfCode } from '@switchyard/emv';
import type { ProviderFailure, ProviderPayer } from '@switchyard/sdk-provider';

/** The result of reading a scanned code. */
export type ScannedCode =
  | { readonly isReadable: true; readonly payer: ProviderPayer }
  | { readonly isReadable: false; readonly failure: ProviderFailure };

const visibleDigits = 4;
/** The first characters of a consumer-presented code, in base64. */
const consumerCode = /^hQVDUFY/;
const unreadable: ProviderFailure = {
  code: 'code_unreadable',
  text: 'The scanned code is incomplete.',
};

/** A short code is masked completely. */
const masked = (text: string): string =>
  `****${text.length > 3 * visibleDigits ? text.slice(-visibleDigits).replace(/[^A-Za-z0-9]/g, '*') : ''}`;

function cardOf(text: string): string | undefined {
  const { applications, common } = readConsumerCode(text);
  const objects = [...common, ...applications.flatMap((application) => application.objects)];
  const all = objects.flatMap((object) => [object, ...(object.children ?? [])]);
  const number = all
    .find(({ tag }) => tag === '5A')
    ?.value.toString('hex')
    .replace(/f+$/i, '');
  const track = all
    .find(({ tag }) => tag === '57')
    ?.value.toString('hex')
    .split('d')[0];
  return number ?? track;
}

/** @example readScanned(payment.scannedPaymentId).isReadable; */
export function readScannedCode(text: string): ScannedCode {
  if (!consumerCode.test(text)) {
    const wallet = walletOfCode(text);
    const maskedId = wallet === undefined ? masked(text) : `${wallet} ${masked(text)}`;
    return { isReadable: true, payer: { maskedId } };
  }
  try {
    const card = cardOf(text);
    return { isReadable: true, payer: { maskedId: card === undefined ? '****' : maskPan(card) } };
  } catch (error) {
    if (error instanceof EmvError) return { isReadable: false, failure: unreadable };
    throw error;
  }
}
