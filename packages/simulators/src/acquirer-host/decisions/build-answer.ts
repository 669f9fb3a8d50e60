// Builds the answer to a request.
import { defined } from '@switchyard/contract';
import type { Message } from '@switchyard/iso8583';
import type { RecordedAnswer } from '../ledger/ledger-entries.ts';
import { addressVerificationResult } from './address-verification.ts';

const ECHOED = [3, 4, 7, 11, 12, 13, 32, 37, 41, 42, 49, 70, 95] as const;
const PARTIALLY_APPROVED = '10';
const AMOUNT_DIGITS = 12;

/** Whether a message type is a response or an acknowledgement, which the host does not answer. */
export function isResponseMessage(mti: string): boolean {
  return Number(mti.slice(2, 3)) % 2 === 1;
}

function answerType(mti: string): string {
  return `${mti.slice(0, 2)}${Number(mti.slice(2, 3)) + 1}0`;
}

/** An answer that has a response code (DE39) and echoes fields of the request. */
export function answerWithCode(request: Message, code: string): Message {
  const { operation } = request;
  const answer: Message = {
    mti: answerType(request.mti),
    fields: {},
    ...defined({ operation }),
  };
  for (const field of ECHOED) {
    const value = request.fields[field];
    if (value !== undefined) answer.fields[field] = value;
  }
  answer.fields[39] = code;
  return answer;
}

const hexOf = (text: string): string => Buffer.from(text, 'latin1').toString('hex').toUpperCase();

/**
 * Tag 91, issuer authentication data: eight bytes that stand for the cryptogram and the two of the
 * response code (EMV Book 2, 8.2.1). They are not computed with a key, so no card accepts them.
 */
function issuerAuthentication(trace: string, code: string): string {
  const cryptogram = hexOf(trace.padStart(8, '0').slice(-8));
  return `910A${cryptogram}${hexOf(code)}`;
}

/** The answer to a financial message whose decision is recorded. */
export function answerForDecision(request: Message, answered: RecordedAnswer): Message {
  const answer = answerWithCode(request, answered.code);
  const { fields } = answer;
  if (answered.code === PARTIALLY_APPROVED) {
    fields[4] = String(answered.amount).padStart(AMOUNT_DIGITS, '0');
  }
  if (answered.approval !== '') fields[38] = answered.approval;
  if (answered.rrn !== undefined && answered.rrn !== '') fields[37] = answered.rrn;
  const reversal = request.mti.startsWith('04');
  if (request.fields[55] !== undefined && !reversal) {
    fields[55] = issuerAuthentication(request.fields[11] ?? '', answered.code);
  }
  const address = reversal ? undefined : addressVerificationResult(request.fields[48]);
  if (address !== undefined) fields[48] = `8301${address}`;
  // Only a host table with `responseContents` sends them.
  answer.data = {
    receiptText: answered.approval === '' ? 'DECLINED' : 'APPROVED',
    networkReference: `N${answered.approval}`,
    balance: String(answered.amount),
  };
  return answer;
}
