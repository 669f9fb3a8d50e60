// Formats the receipts of the platform as lines of a narrow printer.
import type { ReceiptCopy, Transaction } from '@switchyard/contract';
import type { Structure } from '@switchyard/nexo';

const columns = 32;
const lineParts = /.{1,32}/g;

function labelAndValue(label: string, value: string | undefined): string[] {
  if (value === undefined || value === '') return [];
  const availableColumns = columns - value.length;
  return availableColumns > label.length
    ? [label.padEnd(availableColumns) + value]
    : [label, value.padStart(columns)];
}

const centred = (text: string): string =>
  ' '.repeat(Math.max(0, Math.floor((columns - text.length) / 2))) + text;

/** The first line of a reprinted receipt. */
export const duplicateLine = centred('*** DUPLICATE ***');

const verifications: Readonly<Record<string, string>> = {
  PinVerified: 'PIN verified',
  OnDevice: 'Verified on device',
  Signature: 'Signature:',
};

/** The lines of one copy. */
export function receiptLines(copy: ReceiptCopy): string[] {
  const { cardholderVerification: verified } = copy;
  return [
    centred(copy.merchantName),
    ...(copy.merchantAddress ?? '').split('\n').map(centred),
    '',
    ...labelAndValue('Merchant', copy.acquirerMerchantId),
    ...labelAndValue('Terminal', copy.terminalId),
    ...labelAndValue(copy.at.slice(0, 10), copy.at.slice(11, 19)),
    '',
    ...labelAndValue(copy.operation, copy.amountText),
    ...labelAndValue(copy.scheme ?? '', copy.maskedNumber),
    ...labelAndValue('Read', copy.entryMode),
    ...labelAndValue('AID', copy.applicationId),
    ...labelAndValue('Cryptogram', copy.cryptogram),
    ...labelAndValue('Approval', copy.authorizationCode),
    ...labelAndValue('Reference', copy.retrievalReferenceNumber),
    centred(copy.responseText),
    ...(copy.responseReason === undefined ? [] : [centred(copy.responseReason)]),
    ...(copy.acquirerText?.match(lineParts) ?? []).map(centred),
    ...(verified === undefined ? [] : [verifications[verified] ?? '']),
    ...(verified === 'Signature' ? ['', '_'.repeat(columns)] : []),
  ].filter((line, at, all) => line !== '' || all[at - 1] !== '');
}

function receiptOf(
  DocumentQualifier: 'CashierReceipt' | 'CustomerReceipt',
  copy: ReceiptCopy,
): Structure<'PaymentReceipt'> {
  const isSigned =
    DocumentQualifier === 'CashierReceipt' && copy.cardholderVerification === 'Signature';
  return {
    DocumentQualifier,
    ...(isSigned ? { RequiredSignatureFlag: true } : {}),
    OutputContent: {
      OutputFormat: 'Text',
      OutputText: receiptLines(copy).map((line) => ({ Text: line, EndOfLineFlag: true })),
    },
  };
}

/** Both copies for the till to print; empty where the platform sends none. */
export function receiptsOf({ receipt }: Transaction): Structure<'PaymentReceipt'>[] {
  if (receipt === undefined) return [];
  return [
    receiptOf('CashierReceipt', receipt.merchant),
    receiptOf('CustomerReceipt', receipt.cardholder),
  ];
}
