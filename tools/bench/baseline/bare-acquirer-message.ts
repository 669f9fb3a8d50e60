// The bytes of a sale for the acquirer simulator: ISO 8583:1987, packed, with a length of two bytes.
// Written from a template and without the codec of the platform, so that its cost stays the same.

export type BareSale = {
  /** Minor units. */
  amount: number;
  trace: number;
  /** DE7, MMDDhhmmss. */
  sentAt: string;
};

export type BareSaleResponse = { trace: number; isApproved: boolean };

/** Blanks separate data elements. */
const packed = (digits: string) => Buffer.from(digits.replaceAll(' ', ''), 'hex');
const cardNumber = '0'.repeat(16);

/** 0200 with the data elements 2, 3, 4, 7, 11 to 14, 18, 22, 25, 32, 37, 41, 42 and 49. */
const saleTemplate = Buffer.concat([
  packed('005A 0200 723C448108C08000'),
  packed(`16${cardNumber} 000000 000000000000 0131120000 000000`),
  packed('130000 0131 3012 5411 0051 00 06123456'),
  Buffer.from('603112000000BARE0001BARE00000000001978', 'latin1'),
]);
const requestAt = { amount: 24, sentAt: 30, trace: 35, reference: 60 };
const amountDigits = 12;
const traceDigits = 6;

/** 0800 with DE70 = 001. */
export const signOnRequest = packed(
  '001C 0800 82200000000000000400000000000000 0131120060 000001 0001',
);

const responseAt = { messageType: 2, bitmapOf33To40: 8, trace: 26, responseCode: 56, end: 58 };
const saleResponse = 0x0210;
const networkResponse = 0x0810;
const bitOfApprovalCode = 0x04;
const approvedCode = '00';

export function writeSale({ amount, trace, sentAt }: BareSale): Buffer {
  const frame = Buffer.from(saleTemplate);
  const traceText = String(trace).padStart(traceDigits, '0');
  frame.write(String(amount).padStart(amountDigits, '0'), requestAt.amount, 'hex');
  frame.write(sentAt, requestAt.sentAt, 'hex');
  frame.write(traceText, requestAt.trace, 'hex');
  frame.write(traceText, requestAt.reference, 'latin1');
  return frame;
}

/** Whether the frame is the response to a sign-on. */
export const isNetworkResponse = (frame: Buffer): boolean =>
  frame.readUInt16BE(responseAt.messageType) === networkResponse;

/**
 * Reads the answer to a sale from a whole frame; undefined for another message. Only an approval has
 * an approval code (DE38), which precedes the response code.
 */
export function readSaleResponse(frame: Buffer): BareSaleResponse | undefined {
  if (frame.readUInt16BE(responseAt.messageType) !== saleResponse) return undefined;
  const trace = Number(frame.toString('hex', responseAt.trace, responseAt.trace + traceDigits / 2));
  const code = frame.toString('latin1', responseAt.responseCode, responseAt.end);
  const hasApprovalCode = ((frame[responseAt.bitmapOf33To40] ?? 0) & bitOfApprovalCode) !== 0;
  return { trace, isApproved: hasApprovalCode && code === approvedCode };
}
