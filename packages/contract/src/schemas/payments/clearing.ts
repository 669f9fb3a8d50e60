/**
 * Clearing files: captures that the platform sends as lines of a file, and their acknowledgement.
 */
import { type Static, Type } from 'typebox';
import {
  AnswerAmount,
  Currency,
  SumAmount,
  Timestamp,
  Uuid,
  wordOf,
} from '../values-and-problems/value-schemas.ts';

const strict = { additionalProperties: false } as const;

/**
 * The states of a clearing file.
 *
 * - `Made`: it waits for the acquirer.
 * - `Acknowledged`: the settlement is running.
 * - `Settled`: complete.
 * - `Rejected`: the acquirer refused the whole file; its lines go into the next one.
 *
 * @example
 * clearingFileStates.includes('Settled'); // true
 */
export const clearingFileStates = ['Made', 'Acknowledged', 'Settled', 'Rejected'] as const;
/** One of {@link clearingFileStates}. */
export type ClearingFileState = (typeof clearingFileStates)[number];

/**
 * The statuses of a line of a clearing file.
 *
 * @example
 * clearingLineStatuses.includes('Rejected'); // true
 */
export const clearingLineStatuses = ['Filed', 'Accepted', 'Rejected'] as const;
/** One of {@link clearingLineStatuses}. */
export type ClearingLineStatus = (typeof clearingLineStatuses)[number];

/**
 * `POST /payment/v1/clearing-files`: makes the next file of a link now.
 *
 * @example
 * const request: ClearingFileRequest = { acquirerLink, openDays: true };
 */
export const ClearingFileRequest = Type.Object(
  {
    acquirerLink: Type.String({ format: 'uuid', description: 'The acquirer link.' }),
    openDays: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Also captures of settlement days that have not ended.',
      }),
    ),
  },
  { ...strict, description: 'Which captures go into a file.' },
);
/** The type of {@link ClearingFileRequest}. */
export type ClearingFileRequest = Static<typeof ClearingFileRequest>;

/**
 * A clearing file; `sequence` counts the files of a link without a gap.
 *
 * @example
 * const file = (await response.json()) as ClearingFile;
 * if (file.state === 'Made') send(file.fileName);
 */
export const ClearingFile = Type.Object(
  {
    clearingFileId: Uuid,
    acquirerLink: Uuid,
    sequence: Type.Integer({ minimum: 1 }),
    fileName: Type.String({ examples: ['clearing-100001-000001.txt'] }),
    state: wordOf(clearingFileStates),
    lines: Type.Integer({ minimum: 1 }),
    amounts: Type.Array(Type.Object({ currency: Currency, amount: SumAmount })),
    accepted: Type.Optional(Type.Integer({ minimum: 0 })),
    rejected: Type.Optional(Type.Integer({ minimum: 0 })),
    reason: Type.Optional(Type.String({ description: 'Why the acquirer took none of it.' })),
    createdAt: Timestamp,
    acknowledgedAt: Type.Optional(Timestamp),
  },
  { description: 'A clearing file.' },
);
/** The type of {@link ClearingFile}. */
export type ClearingFile = Static<typeof ClearingFile>;

/**
 * One capture of a clearing file.
 *
 * @example
 * const refused = lines.filter((line) => line.status === 'Rejected');
 */
export const ClearingFileLine = Type.Object(
  {
    line: Type.Integer({ minimum: 1 }),
    transactionId: Uuid,
    operationNumber: Type.Integer({ minimum: 1 }),
    settlementDate: Type.String({ format: 'date' }),
    amount: AnswerAmount,
    currency: Currency,
    status: wordOf(clearingLineStatuses),
    code: Type.Optional(Type.String({ description: 'Why the acquirer did not take it.' })),
  },
  { description: 'One capture of a clearing file.' },
);
/** The type of {@link ClearingFileLine}. */
export type ClearingFileLine = Static<typeof ClearingFileLine>;

/**
 * `PUT …/acknowledgement`: the text of the acquirer's acknowledgement, as JSON or as `text/plain`.
 *
 * @example
 * const request: ClearingAcknowledgementInput = { acknowledgement: text };
 */
export const ClearingAcknowledgementInput = Type.Object(
  {
    acknowledgement: Type.String({
      minLength: 1,
      maxLength: 4_000_000,
      description: 'The acknowledgement file as it came from the acquirer.',
    }),
  },
  { ...strict, description: 'The acknowledgement of a clearing file by the acquirer.' },
);
/** The type of {@link ClearingAcknowledgementInput}. */
export type ClearingAcknowledgementInput = Static<typeof ClearingAcknowledgementInput>;
