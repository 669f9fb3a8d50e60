// Reprints receipts for TransactionStatus requests, marked as duplicates.
import {
  type AnyMessage,
  isMessage,
  type PoiDecision,
  type Reading,
  type Structure,
} from '@switchyard/nexo';
import type { ServiceContext } from '../context/service-context.ts';
import { duplicateLine } from './receipts.ts';

type Receipt = Structure<'PaymentReceipt'>;
type RequestedDocuments = Structure<'TransactionStatusRequest'>['DocumentQualifier'];

function isRequested({ DocumentQualifier }: Receipt, requested: RequestedDocuments = []): boolean {
  return requested.length === 0 || requested.includes(DocumentQualifier);
}

function markDuplicate(receipt: Receipt): Receipt {
  const { OutputContent: content } = receipt;
  const duplicateText = { Text: duplicateLine, EndOfLineFlag: true };
  const OutputText = [duplicateText, ...(content.OutputText ?? [])];
  return { ...receipt, OutputContent: { ...content, OutputText } };
}

/** The terminal prints the copy of the customer, as at the sale. */
function printAgain({ runtime, emit }: ServiceContext, receipts: readonly Receipt[]): void {
  if (!runtime.hasPaper) return;
  for (const { DocumentQualifier, OutputContent } of receipts) {
    if (DocumentQualifier !== 'CustomerReceipt') continue;
    emit({ type: 'Printed', lines: (OutputContent.OutputText ?? []).map(({ Text = '' }) => Text) });
  }
}

function withCopies(
  context: ServiceContext,
  answer: AnyMessage,
  requested: RequestedDocuments,
): AnyMessage {
  if (!isMessage(answer, 'TransactionStatus', 'Response')) return answer;
  const { RepeatedMessageResponse: repeated } = answer.body;
  const bodies = Object.entries(repeated?.RepeatedResponseMessageBody ?? {});
  const [[name, body] = []] = bodies as [
    string,
    { readonly PaymentReceipt?: readonly Receipt[] },
  ][];
  if (repeated === undefined || name === undefined || body?.PaymentReceipt === undefined) {
    return answer;
  }
  const PaymentReceipt = body.PaymentReceipt.filter((each) => isRequested(each, requested)).map(
    markDuplicate,
  );
  printAgain(context, PaymentReceipt);
  const RepeatedResponseMessageBody = { [name]: { ...body, PaymentReceipt } };
  const RepeatedMessageResponse = { ...repeated, RepeatedResponseMessageBody };
  return { header: answer.header, body: { ...answer.body, RepeatedMessageResponse } };
}

/** With `ReceiptReprintFlag` the answer contains the requested documents as duplicates. */
export function addReprint(
  context: ServiceContext,
  reading: Reading,
  decision: PoiDecision,
): PoiDecision {
  if (decision.do !== 'Answer' || reading.kind !== 'Message') return decision;
  const { message: request } = reading;
  if (!isMessage(request, 'TransactionStatus', 'Request')) return decision;
  const { ReceiptReprintFlag, DocumentQualifier } = request.body;
  if (ReceiptReprintFlag !== true) return decision;
  return { ...decision, message: withCopies(context, decision.message, DocumentQualifier) };
}
