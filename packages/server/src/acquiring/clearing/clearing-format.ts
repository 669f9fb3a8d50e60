// Captures as lines of a file: what the platform hands to an acquirer, and what it may be told back.
import type { AcquirerReference } from '../spi/acquirer-spi.ts';

/** What names a message at the acquirer. */
export type ClearingReference = Pick<
  AcquirerReference,
  'mti' | 'terminalId' | 'stan' | 'rrn' | 'transmittedAt'
>;

/** One capture. The acquirer finds the card by the authorisation: no number but a masked one. */
export type ClearingLine = {
  /** YYYY-MM-DD: the day of the store. */
  settlementDate: string;
  /** DE42. */
  merchantNumber: string;
  /** Minor units. */
  amount: number;
  /** ISO 4217. */
  currency: string;
  /** Nothing more will be captured: the rest of the hold is given back. */
  final: boolean;
  reference: ClearingReference;
  original: ClearingReference;
  authorizationCode: string;
  maskedNumber: string;
};

export type ClearingHeader = {
  fileId: string;
  linkId: string;
  /** DE32. */
  institutionId: string;
  /** From 1, without a gap for each link. */
  sequence: number;
  /** RFC 3339. */
  createdAt: string;
};

/** The reason of an acquirer that has taken another file under this number: there it is used up. */
export const numberTaken = 'DUPLICATE';

/** What the acquirer says of a file: taken, but for some lines, or nothing of it. */
export type ClearingAcknowledgement = {
  fileId: string;
  sequence: number;
  /** Why the whole file was not taken. */
  refused?: string;
  accepted: number;
  rejections: readonly { line: number; rrn: string; code: string }[];
};

/** How a kind of acquirer writes its files and reads its acknowledgements. */
export type ClearingFormat = {
  /** Of the file as it is handed over. */
  nameOf(header: ClearingHeader): string;
  /** The file in pieces; lines come by pages, numbered from 1. */
  write(
    header: ClearingHeader,
    pages: AsyncIterable<readonly ClearingLine[]>,
  ): AsyncIterable<string>;
  /** @throws AcknowledgementFault where the text is no acknowledgement */
  readAcknowledgement(text: string): ClearingAcknowledgement;
};

/** Names the line, from 1, and what is wrong with it. */
export class AcknowledgementFault extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.name = 'AcknowledgementFault';
    this.line = line;
  }
}
