/** Formats the receipts of the platform for a narrow printer. */
import type { ReceiptCopy, Transaction } from '@switchyard/contract';
import type { Structure } from '@switchyard/nexo';

const columns = 32;

function pair(label: string, value: string | undefined): string[] {
  if (value === undefined || value === '') return [];
  const labelWidth = columns - value.length;
  return labelWidth > label.length
    ? [label.padEnd(labelWidth) + value]
    : [label, value.padStart(columns)];
}

const centred = (text: string): string =>
  ' '.repeat(Math.max(0, Math.floor((columns - text.length) / 2))) + text;

const verifications: Readonly<Record<string, string>> = {
  PinVerified: 'PIN VERIFIED',
  OnDevice: 'VERIFIED ON DEVICE',
  Signature: 'SIGNED ON SCREEN',
};

/** The lines of one copy, in English like the receipt texts of the platform. */
export function receiptLines(copy: ReceiptCopy): string[] {
  const { cardholderVerification: verified = '' } = copy;
  return [
    centred(copy.merchantName),
    ...(copy.merchantAddress ?? '').split('\n').map(centred),
    '',
    ...pair('MERCHANT', copy.acquirerMerchantId),
    ...pair('TERMINAL', copy.terminalId),
    ...pair(copy.at.slice(0, 10), copy.at.slice(11, 19)),
    '',
    ...pair(copy.operation.toUpperCase(), copy.amountText),
    ...pair((copy.scheme ?? '').toUpperCase(), copy.maskedNumber),
    ...pair('READ', copy.entryMode),
    ...pair('AID', copy.applicationId),
    ...pair('APPROVAL', copy.authorizationCode),
    ...pair('REFERENCE', copy.retrievalReferenceNumber),
    '',
    centred(copy.responseText),
    ...(copy.responseReason === undefined ? [] : [centred(copy.responseReason)]),
    ...(verifications[verified] === undefined ? [] : [centred(verifications[verified])]),
  ].filter((line, at, all) => line !== '' || all[at - 1] !== '');
}

function receiptOf(
  DocumentQualifier: 'CashierReceipt' | 'CustomerReceipt',
  copy: ReceiptCopy,
): Structure<'PaymentReceipt'> {
  const OutputText = receiptLines(copy).map((Text) => ({ Text, EndOfLineFlag: true }));
  return { DocumentQualifier, OutputContent: { OutputFormat: 'Text', OutputText } };
}

/** Both receipts for the point of sale; empty if the platform sends none. */
export function receiptsOf({
  receipt,
}: Pick<Transaction, 'receipt'>): Structure<'PaymentReceipt'>[] {
  if (receipt === undefined) return [];
  return [
    receiptOf('CashierReceipt', receipt.merchant),
    receiptOf('CustomerReceipt', receipt.cardholder),
  ];
}
