// Receipts that a till asks for once more, by TransactionStatus: marked as copies, and printed again.
import {
  type AnyMessage,
  isMessage,
  type PoiDecision,
  type Reading,
  type Structure,
} from '@switchyard/nexo';
import type { Inside } from '../context/service-context.ts';
import { duplicateLine } from './receipts.ts';

type Receipt = Structure<'PaymentReceipt'>;
type Wanted = Structure<'TransactionStatusRequest'>['DocumentQualifier'];

function isWanted({ DocumentQualifier }: Receipt, wanted: Wanted = []): boolean {
  return wanted.length === 0 || wanted.includes(DocumentQualifier);
}

function marked(receipt: Receipt): Receipt {
  const { OutputContent: content } = receipt;
  const mark = { Text: duplicateLine, EndOfLineFlag: true };
  const OutputText = [mark, ...(content.OutputText ?? [])];
  return { ...receipt, OutputContent: { ...content, OutputText } };
}

/** The terminal prints what the customer takes along, as it does at the sale. */
function printAgain({ moment, tell }: Inside, receipts: readonly Receipt[]): void {
  if (!moment.hasPaper) return;
  for (const { DocumentQualifier, OutputContent } of receipts) {
    if (DocumentQualifier !== 'CustomerReceipt') continue;
    tell({ type: 'Printed', lines: (OutputContent.OutputText ?? []).map(({ Text = '' }) => Text) });
  }
}

function copied(inside: Inside, answer: AnyMessage, wanted: Wanted): AnyMessage {
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
  const PaymentReceipt = body.PaymentReceipt.filter((each) => isWanted(each, wanted)).map(marked);
  printAgain(inside, PaymentReceipt);
  const RepeatedResponseMessageBody = { [name]: { ...body, PaymentReceipt } };
  const RepeatedMessageResponse = { ...repeated, RepeatedResponseMessageBody };
  return { header: answer.header, body: { ...answer.body, RepeatedMessageResponse } };
}

/** With `ReceiptReprintFlag` the answer has the documents that were asked for, as copies. */
export function reprinted(inside: Inside, reading: Reading, decision: PoiDecision): PoiDecision {
  if (decision.do !== 'Answer' || reading.kind !== 'Message') return decision;
  const { message: request } = reading;
  if (!isMessage(request, 'TransactionStatus', 'Request')) return decision;
  const { ReceiptReprintFlag, DocumentQualifier } = request.body;
  if (ReceiptReprintFlag !== true) return decision;
  return { ...decision, message: copied(inside, decision.message, DocumentQualifier) };
}
