// Types of clearing files and their acknowledgements.
import type { AcquirerReference } from '../spi/acquirer-spi.ts';

/** Identifies a message at the acquirer. */
export type ClearingReference = Pick<
  AcquirerReference,
  'mti' | 'terminalId' | 'stan' | 'rrn' | 'transmittedAt'
>;

/** One capture, with masked card number. The acquirer finds the card by the authorisation. */
export type ClearingLine = {
  /** YYYY-MM-DD in the time zone of the store. */
  settlementDate: string;
  /** DE42. */
  merchantNumber: string;
  /** Minor units. */
  amount: number;
  /** ISO 4217. */
  currency: string;
  /** Final capture: the acquirer releases the remaining authorisation. */
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
  /** Starts at 1 for each link. After a fail-over or restore of the database it continues later. */
  sequence: number;
  /** The number before it, 0 for the first file. */
  previousSequence: number;
  /** RFC 3339. */
  createdAt: string;
};

/** Rejection reason: the acquirer already accepted another file with this sequence number. */
export const duplicateSequenceReason = 'DUPLICATE';

/** Acknowledgement of a file: accepted, accepted except some lines, or rejected. */
export type ClearingAcknowledgement = {
  fileId: string;
  sequence: number;
  /** Reason if the acquirer rejected the whole file. */
  rejectionReason?: string;
  accepted: number;
  rejections: readonly { line: number; rrn: string; code: string }[];
};

export type ClearingFormat = {
  fileName(header: ClearingHeader): string;
  /** Yields the file in chunks; lines are numbered from 1. */
  writeFile(
    header: ClearingHeader,
    pages: AsyncIterable<readonly ClearingLine[]>,
  ): AsyncIterable<string>;
  /** @throws AcknowledgementFormatError if the text is not an acknowledgement */
  readAcknowledgement(text: string): ClearingAcknowledgement;
};

/** Format error with its line number, from 1. */
export class AcknowledgementFormatError extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.name = 'AcknowledgementFormatError';
    this.line = line;
  }
}
